/**
 * A process that holds Docker sandboxes, with the memory limits of the stack's own workers: `node bench/sandbox-worker.ts FOLDER SPEC`, SPEC being
 * a SandboxSpec as JSON. It answers each message with what the message names: see `Question` and `Answer`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createDockerRuntime, type Sandbox, type SandboxSpec } from "../services/sandbox/index.ts";
import { mapWindow } from "../workflows/window.ts";
import { benchIdentity } from "./sandbox-spec.ts";

export type Question =
  /** Makes sandboxes until `count` live. */
  | { readonly ask: "live"; readonly count: number }
  /** A command that prints so many bytes, of which the sandbox keeps `keep`. */
  | { readonly ask: "output"; readonly bytes: number; readonly keep: number }
  /** Removes every sandbox. */
  | { readonly ask: "end" };

/** Bytes. */
export interface Answer {
  /** Resident once the garbage is gone. */
  readonly resident: number;
  /** Resident at most while the question was worked on. */
  readonly peak: number;
  /** Output kept. */
  readonly kept: number;
}

/** Sandboxes made or removed at a time. */
const WINDOW = 4;

async function resident(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await sleep(200);
  }
  return process.memoryUsage().rss;
}

/** The kernel's own high-water mark: nothing is missed between two looks. */
function peak(): number {
  const [, kilobytes] = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))!;
  return Number(kilobytes) * 1024;
}

const forgetPeak = () => writeFileSync("/proc/self/clear_refs", "5");

async function main([folder, spec]: readonly string[]): Promise<void> {
  if (folder === undefined || spec === undefined) throw new Error("expected FOLDER SPEC");
  const runtime = createDockerRuntime({ root: folder, nodePath: process.execPath });
  const sandboxes: Sandbox[] = [];
  const answer = async (question: Question): Promise<Answer> => {
    forgetPeak();
    let kept = 0;
    if (question.ask === "live") {
      const missing = Array.from(
        { length: question.count - sandboxes.length },
        (_, i) => sandboxes.length + i,
      );
      const make = (n: number) =>
        runtime
          .create(JSON.parse(spec) as SandboxSpec, benchIdentity(`memory/${n}`))
          .then((made) => sandboxes.push(made));
      await mapWindow(missing, WINDOW, make);
      // Whoever held one has run a command in it and looked at its tree.
      await mapWindow(sandboxes, WINDOW, async (sandbox) => {
        await sandbox.exec(["sh", "-c", "echo changed >>package.json"], {
          timeoutSeconds: 60,
          outputBytes: 1000,
        });
        await sandbox.changes();
      });
    } else if (question.ask === "output") {
      const argv = ["head", "-c", String(question.bytes), "/dev/zero"];
      const result = await sandboxes[0]!.exec(argv, { timeoutSeconds: 300, outputBytes: question.keep });
      if (result.exitCode !== 0) throw new Error(`${argv.join(" ")}: exit code ${result.exitCode}`);
      kept = result.stdout.length;
    } else await mapWindow(sandboxes.splice(0), WINDOW, (sandbox) => sandbox.destroy());
    const highest = peak();
    return { resident: await resident(), peak: highest, kept };
  };
  process.on("message", (question: Question) => void answer(question).then((said) => process.send?.(said)));
  // Whoever started it is gone: nobody would stop it.
  process.once("disconnect", () => process.exit(0));
  process.send?.(await resident());
}

if (import.meta.main) await main(process.argv.slice(2));
