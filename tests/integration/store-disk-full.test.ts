/** A full disk, for real: an artifact folder on a file system of one megabyte, which bubblewrap mounts. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const STORE = new URL("../../services/store/artifacts.ts", import.meta.url).href;
const SCRIPT = `
import { readdir } from "node:fs/promises";
import { createLocalArtifacts } from ${JSON.stringify(STORE)};
const store = await createLocalArtifacts("/mnt/artifacts");
const kept = await store.put(new Uint8Array(1000).fill(1), "log");
const error = await store.put(new Uint8Array(3_000_000).fill(2), "log").catch((caught) => caught);
const files = await readdir("/mnt/artifacts", { recursive: true, withFileTypes: true });
const after = await store.put(new Uint8Array(1000).fill(3), "log");
console.log(JSON.stringify({
  kind: error.kind,
  message: error.message,
  files: files.filter((entry) => entry.isFile()).length,
  readable: [(await store.get(kept)).length, (await store.get(after)).length],
}));
`;

it("says that the disk is full, leaves nothing half written, and goes on when there is room", async () => {
  const mounts = ["--ro-bind", "/", "/", "--size", "1048576", "--tmpfs", "/mnt"];
  const { stdout } = await promisify(execFile)("bwrap", [
    ...mounts,
    process.execPath,
    "--input-type=module",
    "-e",
    SCRIPT,
  ]);
  expect(JSON.parse(stdout)).toEqual({
    kind: "disk-full",
    message: expect.stringContaining("/mnt/artifacts: free some, then try again; nothing was written"),
    files: 1,
    readable: [1000, 1000],
  });
});
