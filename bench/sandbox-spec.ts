/** Sandboxes as the benches make them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxIdentity, SandboxSpec } from "../services/sandbox/index.ts";

/** `slot` tells sandboxes of one runtime apart. */
export const benchIdentity = (slot: string): SandboxIdentity => ({
  experiment: "bench",
  slot: `bench/${slot}`,
  attempt: 1,
  fence: "bench",
  deadline: Number.MAX_SAFE_INTEGER,
});

/** A tree of one file, made in `folder`. */
export function smallSpec(folder: string): SandboxSpec {
  const root = join(folder, "root");
  const modules = join(folder, "modules");
  mkdirSync(root);
  mkdirSync(modules);
  writeFileSync(join(root, "index.js"), "module.exports = 1;\n");
  return {
    root,
    overlay: [],
    mounts: [{ source: modules, target: "/repo/node_modules" }],
    limits: { memoryMb: 512, processes: 64, diskMb: 64 },
    env: {},
  };
}
