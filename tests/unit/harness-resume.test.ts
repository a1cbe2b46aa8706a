/** A rollout cut at every step there is, on folders as sandboxes; tests/integration/rollout-cut.test.ts does it on the real ones. */
import { afterEach, describe, expect, it } from "vitest";
import type { SandboxRuntime } from "../../services/sandbox/runtime.ts";
import { attempt, disturbed, memorySlot, newWorld, type World } from "../support/cut-rollout.ts";
import { bash, sayCall } from "./harness-policy.ts";
import { type FolderSandbox, openFolder } from "./harness-sandbox.ts";

const open: FolderSandbox[] = [];
afterEach(async () => {
  for (const folder of open.splice(0)) await folder.destroy();
});

/** One sandbox per slot, known by the fence of its holder. */
function folders(): SandboxRuntime & { readonly made: () => number } {
  let here: { readonly fence: string; readonly sandbox: FolderSandbox } | undefined;
  let made = 0;
  const remove = async () => {
    await here?.sandbox.destroy();
    here = undefined;
  };
  return {
    name: "process",
    made: () => made,
    unavailable: async () => null,
    reap: async () => 0,
    list: async () => [],
    create: async (_, { fence }) => {
      await remove();
      made++;
      here = { fence, sandbox: await openFolder({ "a.js": "let a = 1;\n" }) };
      open.push(here.sandbox);
      return here.sandbox;
    },
    adopt: async (previous, { fence }) => {
      if (here?.fence !== previous.fence) return undefined;
      here = { fence, sandbox: here.sandbox };
      return here.sandbox;
    },
    removeSlot: async (_, keep) => {
      if (here === undefined || here.fence === keep) return 0;
      await remove();
      return 1;
    },
  };
}

const SPEC = { root: "", overlay: [], mounts: [], limits: { memoryMb: 1, processes: 1, diskMb: 1 }, env: {} };

/** Every kind of trace that a command can leave: in the tree, beside it, seen by its hash and not. */
const SCRIPT = [
  `${sayCall("Read", { file_path: "a.js" })}\n${sayCall("Write", { file_path: "n.js", content: "1" })}`,
  bash("mkdir d\necho made"),
  bash("echo x >> a.js\ncat a.js"),
  bash("echo s >> ../tmp/s\ncat ../tmp/s"),
  sayCall("Edit", { file_path: "a.js", old_string: "1", new_string: "2" }),
];

const world = (more: Partial<World> = {}) => {
  const runtime = folders();
  return {
    ...newWorld({ runtime, ledger: memorySlot(), spec: SPEC, script: SCRIPT, slot: "s", ...more }),
    runtime,
  };
};

describe("a rollout that is cut", () => {
  it.each([
    ["goes on in its sandbox", 1, { sandboxGone: false }, undefined],
    ["goes on in a new sandbox", 2, { sandboxGone: true }, undefined],
    ["goes on behind a router that rewrites prompts", 3, { sandboxGone: false }, 2],
  ] as const)("at any step %s, and is what it would have been", async (_, stride, fate, routedFrom) => {
    const more = routedFrom === undefined ? {} : { routedFrom };
    const { steps, ...whole } = await attempt(world(more), null);
    expect(whole.trajectory).toMatchObject({ exit: "agent", segments: { length: routedFrom ? 2 : 1 } });
    let adopted = 0;
    const cutAt = async (at: number) => {
      const here = world(more);
      expect({ at, ...(await disturbed(here, [{ at, ...fate }])) }).toEqual({ at, ...whole });
      expect({ at, again: here.sampledAgain, dropped: here.droppedFor }).toEqual({
        at,
        again: [],
        dropped: [],
      });
      if (here.runtime.made() === 1) adopted++;
    };
    const cuts = Array.from({ length: Math.ceil(steps / stride) }, (_, i) => i * stride);
    while (cuts.length > 0) await Promise.all(cuts.splice(0, 6).map(cutAt));
    // Most cuts leave the sandbox where the ledger says it is.
    if (!fate.sandboxGone) expect(adopted).toBeGreaterThan(steps / stride / 2);
  });
});
