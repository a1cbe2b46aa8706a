/** The local artifact folder: crashes, leftovers, moves. What any store must do is in tests/contract/artifacts.ts. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLocalArtifacts, sha256Of } from "../../services/store/index.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tadpole-artifacts-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Puts ever new artifacts of 24 MB until it is killed. */
const WRITER = `
import { createLocalArtifacts } from ${JSON.stringify(new URL("../../services/store/artifacts.ts", import.meta.url).href)};
const store = await createLocalArtifacts(process.argv[1]);
process.stdout.write("open");
for (let i = 0; ; i++) await store.put(new Uint8Array(24_000_000).fill(i), "log");
`;

/** Starts the writer and kills it `afterMs` milliseconds after it opened the folder. */
async function killedWriter(afterMs: number): Promise<void> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", WRITER, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

describe("a local artifact folder", () => {
  it("holds no wrong artifact after writers were killed in the middle of puts", async () => {
    for (const afterMs of [20, 35, 50, 65, 80, 95]) await killedWriter(afterMs);
    await createLocalArtifacts(folder);
    expect(await readdir(join(folder, "incoming"))).toEqual([]);
    const names = (await readdir(folder)).filter((name) => name !== "incoming");
    let checked = 0;
    for (const prefix of names)
      for (const rest of await readdir(join(folder, prefix))) {
        expect(sha256Of(await readFile(join(folder, prefix, rest)))).toBe(prefix + rest);
        checked++;
      }
    expect(checked).toBeGreaterThan(0);
  }, 20_000);

  it("removes what dead writers left, and leaves alone what live or unknown ones are writing", async () => {
    const incoming = join(folder, "incoming");
    await mkdir(incoming);
    const dead = `4194304@${hostname()}@x`; // above the largest process id Linux gives
    const live = `${process.ppid}@${hostname()}@x`;
    const elsewhere = "1@another-host@x";
    const old = "2@another-host@x";
    for (const name of [dead, live, elsewhere, old]) await writeFile(join(incoming, name), "half");
    const yesterday = new Date(Date.now() - 24 * 60 * 60 * 1000);
    await utimes(join(incoming, old), yesterday, yesterday);
    await createLocalArtifacts(folder);
    expect((await readdir(incoming)).sort()).toEqual([elsewhere, live].sort());
  });

  it("still resolves after it was moved", async () => {
    const before = await createLocalArtifacts(join(folder, "here"));
    const ref = await before.put(Buffer.from("content"), "log");
    await rename(join(folder, "here"), join(folder, "there"));
    const after = await createLocalArtifacts(join(folder, "there"));
    expect(Buffer.from(await after.get(ref)).toString()).toBe("content");
    expect(after.path?.(ref)).toBe(join(folder, "there", ref.sha256.slice(0, 2), ref.sha256.slice(2)));
  });

  it("says where it cannot write", async () => {
    await writeFile(join(folder, "file"), "");
    await expect(createLocalArtifacts(join(folder, "file", "data"))).rejects.toMatchObject({
      kind: "unwritable",
      message: expect.stringContaining(join(folder, "file", "data")),
    });
  });
});
