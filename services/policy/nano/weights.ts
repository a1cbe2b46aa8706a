/**
 * The policies a server answers with: checkpoint files, checked when they are announced and again whenever they are read, under ids that
 * never change their meaning. The list survives a restart; weights are read when they are needed.
 */
import { createHash } from "node:crypto";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { decodeStandIn, type StandInCheckpoint } from "../stand-in/checkpoint.ts";
import { decodeCheckpoint } from "./checkpoint.ts";
import { badRequest, RequestError } from "./errors.ts";

export interface WeightsEntry {
  readonly id: string;
  /** Of the checkpoint file, hex. */
  readonly sha256: string;
  /** Absolute. */
  readonly path: string;
}

/** What a checkpoint file holds: [slots] weights of the embedded policy, or the pass rates of a stand-in. */
export type Loaded =
  | { readonly kind: "nano"; readonly weights: Float64Array }
  | ({ readonly kind: "stand-in" } & StandInCheckpoint);

export interface Weights {
  list(): readonly WeightsEntry[];
  /** Throws RequestError 404 when the policy is not served, or its file is not what was announced. */
  get(id: string): Promise<Loaded>;
  /** Serves the policy from now on, or throws and changes nothing. Resolves once the list is on disk. */
  add(announced: WeightsEntry): Promise<void>;
}

const SHA256 = /^[0-9a-f]{64}$/;

/** Body of `POST /weights`: an id, a hash, and where the file is, as a path or a file URI. */
export function parseAnnouncement(body: Readonly<Record<string, unknown>>): WeightsEntry {
  const { id, sha256, path, uri } = body;
  if (typeof id !== "string" || !/^[\w.-]{1,128}$/.test(id))
    throw badRequest("id", "a policy id of letters, digits, '.', '_' and '-'");
  if (typeof sha256 !== "string" || !SHA256.test(sha256)) throw badRequest("sha256", "64 hex digits");
  if (typeof path === "string" && path.startsWith("/")) return { id, sha256, path };
  if (typeof uri === "string" && uri.startsWith("file:///")) return { id, sha256, path: fileURLToPath(uri) };
  throw badRequest("path", "an absolute path, or a file:/// address in `uri`");
}

/** Weights of a file, or a RequestError that says what is wrong with it. */
async function readWeights({ id, sha256, path }: WeightsEntry, status: number): Promise<Loaded> {
  const refuse = (what: string, cause: unknown) =>
    new RequestError(status, status === 404 ? "model_not_found" : "invalid_value", `${id}: ${what}`, {
      cause,
    });
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw refuse(`its checkpoint cannot be read (${(error as NodeJS.ErrnoException).code})`, error);
  }
  const actual = createHash("sha256").update(bytes).digest("hex");
  if (actual !== sha256) throw refuse(`its checkpoint has sha256 ${actual}: expected ${sha256}`, undefined);
  try {
    const standIn = decodeStandIn(bytes);
    return standIn === null
      ? { kind: "nano", weights: decodeCheckpoint(bytes).weights }
      : { kind: "stand-in", ...standIn };
  } catch (error) {
    throw refuse(`its checkpoint is no policy: ${(error as Error).message}`, error);
  }
}

async function readManifest(file: string): Promise<WeightsEntry[]> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  const { policies } = JSON.parse(text) as { readonly policies: readonly Record<string, unknown>[] };
  return policies.map(parseAnnouncement);
}

async function writeManifest(file: string, entries: Iterable<WeightsEntry>): Promise<void> {
  const draft = `${file}.new`;
  const handle = await open(draft, "w");
  try {
    await handle.writeFile(`${JSON.stringify({ policies: [...entries] }, null, 1)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}

/** `loadedLimit` = sets of weights kept in memory, half a megabyte each. */
export async function openWeights(folder: string, loadedLimit: number): Promise<Weights> {
  const file = join(folder, "weights.json");
  await mkdir(dirname(file), { recursive: true });
  const entries = new Map((await readManifest(file)).map((entry) => [entry.id, entry]));
  const loaded = new Map<string, Promise<Loaded>>();
  let writing: Promise<void> = Promise.resolve();

  const keep = (id: string, weights: Promise<Loaded>) => {
    loaded.delete(id);
    loaded.set(id, weights);
    for (const oldest of loaded.keys()) {
      if (loaded.size <= loadedLimit) break;
      loaded.delete(oldest);
    }
  };

  return {
    list: () => [...entries.values()],
    get: async (id) => {
      const entry = entries.get(id);
      if (!entry)
        throw new RequestError(404, "model_not_found", `the policy ${JSON.stringify(id)} is not served`);
      const weights = loaded.get(id) ?? readWeights(entry, 404);
      keep(id, weights);
      // A file that comes back later is read again.
      weights.catch(() => loaded.get(id) === weights && loaded.delete(id));
      return weights;
    },
    add: async (announced) => {
      const { id, sha256 } = announced;
      const conflict = () => {
        const known = entries.get(id);
        if (known && known.sha256 !== sha256)
          throw new RequestError(
            409,
            "conflict",
            `${id} is served with sha256 ${known.sha256}: an id never changes`,
          );
      };
      conflict();
      const weights = await readWeights(announced, 400);
      conflict();
      entries.set(id, announced);
      keep(id, Promise.resolve(weights));
      writing = writing.catch(() => undefined).then(() => writeManifest(file, entries.values()));
      await writing;
    },
  };
}
