/** The local artifact folder: crashes, leftovers, moves. What any store must do is in tests/contract/artifacts.ts. */
import { spawn } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLocalArtifacts } from "../../services/store/index.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tadpole-artifacts-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const SIZE = 24_000_000;
/** Puts ever new artifacts until it is killed. */
const WRITER = `
import { createLocalArtifacts } from ${JSON.stringify(new URL("../../services/store/artifacts.ts", import.meta.url).href)};
const store = await createLocalArtifacts(process.argv[1]);
for (let i = 0; ; i++) await store.put(new Uint8Array(${SIZE}).fill(i), "log");
`;

function filesIn(path: string): { readonly file: string; readonly bytes: number }[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .flatMap((file) => {
      const found = statSync(file, { throwIfNoEntry: false });
      return found ? [{ file, bytes: found.size }] : [];
    });
}

const partial = ({ bytes }: { readonly bytes: number }) => bytes < SIZE;

/** Starts a writer and kills it as soon as a file, wherever it is, holds a part of its content. */
async function writerKilledWhileWriting(): Promise<void> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", WRITER, folder], { stdio: "inherit" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  while (child.exitCode === null && !filesIn(folder).some(partial))
    await new Promise((resolve) => setTimeout(resolve, 1));
  child.kill("SIGKILL");
  await ended;
}

describe("a local artifact folder", () => {
  it("holds no wrong artifact after a writer was killed in the middle of a put", async () => {
    // The kill may come a moment after the last byte, so it is tried until one hit the middle.
    do await writerKilledWhileWriting();
    while (!filesIn(folder).some(partial));
    const store = await createLocalArtifacts(folder);
    expect(await readdir(join(folder, "incoming"))).toEqual([]);
    for (const { file } of filesIn(folder)) {
      const content = await readFile(file);
      expect(file).toBe(store.path?.(await store.put(content, "log")));
    }
    expect(filesIn(folder).filter(partial)).toEqual([]);
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
