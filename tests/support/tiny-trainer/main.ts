/**
 * A real trainer process of the smallest policy: speaks the protocol, trains, saves. `TINY_FAULT` makes it misbehave as real ones do, in
 * every update, or once where `TINY_FAULT_ONCE` names a file that then marks it.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { BatchError, type DecodedRow, decodeBatch } from "../../../services/trainers/batch.ts";
import type {
  SessionFile,
  TrainedFile,
  TrainerEvent,
  TrainerRequest,
  UpdateOrder,
} from "../../../services/trainers/protocol.ts";
import { decodeWeights, encodeWeights, freshState, type TinyState, train } from "./policy.ts";

const { values: flags } = parseArgs({
  options: {
    session: { type: "string" },
    dtype: { type: "string" },
    "pack-tokens": { type: "string" },
    "gradient-checkpointing": { type: "string" },
  },
});
const folder = flags.session!;
const token = process.env.TADPOLE_TRAINER_TOKEN!;
const stepMs = Number(process.env.TINY_STEP_MS ?? 0);

type Body<E> = E extends unknown ? Omit<E, "id"> : never;
type Tell = (event: Body<TrainerEvent>) => void;

let current: { readonly key: string; readonly tells: Set<Tell> } | null = null;
let stopping = false;

/** Null once it has happened, where it happens once. */
function fault(): string | null {
  const { TINY_FAULT: kind = null, TINY_FAULT_ONCE: mark } = process.env;
  if (kind === null || mark === undefined) return kind;
  if (existsSync(mark)) return null;
  writeFileSync(mark, "");
  return kind;
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

function save(order: UpdateOrder, state: TinyState, metrics: TrainedFile["metrics"], wrong: string | null) {
  const partial = `${order.out}.partial`;
  rmSync(partial, { recursive: true, force: true });
  const { weights, ...adam } = state;
  const contents = {
    "model/config.json": readFileSync(join(order.parent, "config.json")),
    "model/tokenizer.json": readFileSync(join(order.parent, "tokenizer.json")),
    "model/model.safetensors": encodeWeights(weights),
    "optimizer/adam.json": Buffer.from(JSON.stringify(adam)),
  };
  const files = Object.entries(contents).map(([path, bytes]) => {
    mkdirSync(join(partial, path, ".."), { recursive: true });
    writeFileSync(join(partial, path), bytes);
    return { path, sha256: sha256(bytes), bytes: bytes.length };
  });
  if (wrong === "killed-saving") process.kill(process.pid, "SIGKILL");
  if (wrong === "torn") writeFileSync(join(partial, "model/model.safetensors"), "[]");
  const { key } = order;
  const trained: TrainedFile = {
    ...{ format: "tadpole-trained", version: 1, key, step: state.step, metrics, files },
  };
  writeFileSync(join(partial, "checkpoint.json"), JSON.stringify(trained));
  renameSync(partial, order.out);
  return trained;
}

/** Ends as a process does whose libraries gave up. */
function die(code: number, ...lines: readonly string[]): never {
  console.error(lines.join("\n"));
  process.exit(code);
}

async function update(order: UpdateOrder, tell: Tell): Promise<void> {
  const marker = join(order.out, "checkpoint.json");
  if (existsSync(marker)) return tell({ event: "done", trained: JSON.parse(readFileSync(marker, "utf8")) });
  let rows: readonly DecodedRow[];
  try {
    rows = decodeBatch(readFileSync(order.batch));
  } catch (error) {
    if (!(error instanceof BatchError)) throw error;
    return tell({ event: "failed", kind: "batch", message: error.message });
  }
  if (rows.length === 0) return tell({ event: "failed", kind: "batch", message: "the batch has no rows" });
  const wrong = fault();
  for (let done = 1; done <= rows.length; done++) {
    await sleep(stepMs);
    tell({ event: "progress", done, total: rows.length });
    if (done < rows.length) continue;
    if (wrong === "memory") die(1, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.");
    if (wrong === "collective")
      die(1, "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE)");
    if (wrong === "disk-log") die(1, "OSError: [Errno 28] No space left on device");
    if (wrong === "untrained") die(0, "nothing left to train");
    if (wrong === "broken-off") process.kill(process.pid, "SIGSEGV");
    if (wrong === "hang") await new Promise(() => {});
  }
  const weights = decodeWeights(readFileSync(join(order.parent, "model.safetensors")));
  const adam =
    order.optimizer === null ? {} : JSON.parse(readFileSync(join(order.optimizer, "adam.json"), "utf8"));
  const { state, metrics } = train({ ...freshState(weights), ...adam }, rows, order.settings);
  if (wrong === "nan")
    return tell({ event: "failed", kind: "diverged", message: "loss is nan: expected a finite number" });
  if (wrong === "disk")
    return tell({ event: "failed", kind: "disk", message: "no space left for the checkpoint" });
  if (wrong === "internal")
    return tell({ event: "failed", kind: "internal", message: "RuntimeError: CUDA out of memory." });
  const trained = save(order, state, metrics, wrong);
  tell({ event: "done", trained });
}

function order(request: UpdateOrder, tell: Tell): void {
  if (current?.key === request.key) {
    current.tells.add(tell);
    return;
  }
  const { key } = request;
  const tells = new Set([tell]);
  current = { key, tells };
  console.log(`update ${key}`);
  void update(request, (event) => {
    for (const each of tells) each(event);
  }).then(() => {
    current = null;
    if (stopping) process.exit(0);
  });
}

function serve(socket: Socket): void {
  socket.on("error", () => {});
  const lines = createInterface({ input: socket });
  // It passes on what the socket fails by.
  lines.on("error", () => {});
  lines.on("line", (line) => {
    const request = JSON.parse(line) as TrainerRequest;
    if (request.token !== token) return socket.destroy();
    const tell: Tell = (event) => socket.write(`${JSON.stringify({ id: request.id, ...event })}\n`);
    if (request.op === "hello")
      tell({ event: "hello", trainer: "torch", version: "tiny", devices: [], busy: current?.key ?? null });
    else if (request.op === "update") order(request, tell);
    else {
      stopping = true;
      if (current === null) process.exit(0);
    }
  });
}

if (process.env.TINY_FAULT === "start") die(1, "ModuleNotFoundError: No module named 'torch'");
const socket =
  folder.length < 90 ? join(folder, "socket") : join(mkdtempSync(join(tmpdir(), "tiny-")), "socket");
rmSync(socket, { force: true });
createServer(serve).listen(socket, () => {
  const started = Number(readFileSync("/proc/self/stat", "utf8").split(") ")[1]!.split(" ")[19]);
  const session: SessionFile = { pid: process.pid, started, token, socket, trainer: "torch" };
  writeFileSync(join(folder, "session.json.new"), JSON.stringify(session));
  renameSync(join(folder, "session.json.new"), join(folder, "session.json"));
});
