/** What every artifact store must do. Each implementation's test calls this with a way to open an empty one. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ArtifactStore, getJson, putJson, sha256Of } from "../../services/store/index.ts";

export interface ArtifactsUnderTest {
  readonly store: ArtifactStore;
  /** Changes one byte of the stored content, or cuts it, behind the store's back. */
  damage(sha256: string, how: "flip" | "cut"): Promise<void>;
  /** Takes stored content away, also behind its back. */
  lose(sha256: string): Promise<void>;
  close(): Promise<void>;
}

export function artifactContract(name: string, open: () => Promise<ArtifactsUnderTest>): void {
  describe(`${name}: an artifact store`, () => {
    let under: ArtifactsUnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.close());

    it("gives back the bytes that were put, under their sha256", async () => {
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), async (bytes) => {
          const ref = await under.store.put(bytes, "log");
          expect(ref).toEqual({
            uri: `artifact:${sha256Of(bytes)}`,
            sha256: sha256Of(bytes),
            bytes: bytes.length,
            kind: "log",
          });
          expect(Buffer.from(await under.store.get(ref))).toEqual(Buffer.from(bytes));
        }),
        { numRuns: 20 },
      );
    });

    it("takes a content in parts, however many and however small", async () => {
      const bytes = Buffer.from(Array.from({ length: 5000 }, (_, i) => i % 251));
      const parts = [...bytes].map((_, i) => bytes.subarray(i, i + 1));
      for (const content of [parts, [bytes.subarray(0, 7), new Uint8Array(), bytes.subarray(7)]])
        expect(await under.store.put(content, "batch")).toMatchObject({
          sha256: sha256Of(bytes),
          bytes: 5000,
        });
      const ref = await under.store.put(parts, "batch");
      expect(Buffer.from(await under.store.get(ref))).toEqual(bytes);
    });

    it("takes the same content from many writers at once", async () => {
      const bytes = new Uint8Array(100_000).fill(7);
      const refs = await Promise.all(Array.from({ length: 12 }, () => under.store.put(bytes, "batch")));
      expect(new Set(refs.map((ref) => ref.uri)).size).toBe(1);
      expect(sha256Of(await under.store.get(refs[0]!))).toBe(refs[0]!.sha256);
    });

    it("says that content is missing, before it was put and after it was lost", async () => {
      const ref = await under.store.put(Buffer.from("once"), "log");
      await under.lose(ref.sha256);
      const sha256 = sha256Of(Buffer.from("never put"));
      for (const gone of [ref, { ...ref, sha256, uri: `artifact:${sha256}` }])
        await expect(under.store.get(gone)).rejects.toMatchObject({
          name: "ArtifactError",
          kind: "missing",
          message: expect.stringContaining("restore it"),
        });
    });

    it.each(["flip", "cut"] as const)("refuses damaged content (%s), and put repairs it", async (how) => {
      const bytes = Buffer.from("the weights of a policy");
      const ref = await under.store.put(bytes, "policy");
      await under.damage(ref.sha256, how);
      await expect(under.store.get(ref)).rejects.toMatchObject({
        kind: "damaged",
        message: expect.stringContaining(ref.sha256.slice(2)),
      });
      await under.store.put(bytes, "policy");
      expect(Buffer.from(await under.store.get(ref))).toEqual(bytes);
    });

    it("takes and gives files as it does bytes, and leaves nothing where the content is lost or damaged", async () => {
      const folder = await mkdtemp(join(tmpdir(), "files-"));
      try {
        const [given, taken] = [join(folder, "given"), join(folder, "taken")];
        // More than one part of a stream.
        const bytes = Buffer.alloc(300_000, "the weights of a policy; ");
        await writeFile(given, bytes);
        const ref = await under.store.putFile(given, "policy");
        expect(ref).toEqual(await under.store.put(bytes, "policy"));
        await under.store.getFile(ref, taken);
        expect((await readFile(taken)).equals(bytes)).toBe(true);
        await rm(taken);
        await under.damage(ref.sha256, "flip");
        await expect(under.store.getFile(ref, taken)).rejects.toMatchObject({ kind: "damaged" });
        await under.store.putFile(given, "policy");
        await under.lose(ref.sha256);
        await expect(under.store.getFile(ref, taken)).rejects.toMatchObject({ kind: "missing" });
        expect(await readdir(folder)).toEqual(["given"]);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });

    it("refuses a reference that is none", async () => {
      const ref = await under.store.put(Buffer.from("x"), "log");
      for (const wrong of ["../../etc/passwd", "", ref.sha256.toUpperCase()])
        await expect(under.store.get({ ...ref, sha256: wrong })).rejects.toMatchObject({ kind: "reference" });
    });

    it("keeps JSON values, equal values under one reference", async () => {
      await fc.assert(
        fc.asyncProperty(fc.jsonValue(), async (value) => {
          const text = JSON.stringify(value);
          const ref = await putJson(under.store, value, "task");
          expect(await putJson(under.store, JSON.parse(text), "task")).toEqual(ref);
          expect(JSON.stringify(await getJson(under.store, ref))).toBe(text);
        }),
        { numRuns: 20 },
      );
    });
  });
}
