/** The label of a sandbox: what is read to look at it is small, what is read to take it over is whole. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readIdentity, readLabel, takeOver, writeLabel } from "../../services/sandbox/label.ts";

const identity = { experiment: "e", slot: "s", attempt: 1, fence: "f", deadline: 9 };
const spec = {
  root: "/root",
  overlay: [
    { kind: "write" as const, path: "a", content: "contents".repeat(999), encoding: "utf8" as const },
  ],
  mounts: [],
  limits: { memoryMb: 1, processes: 1, diskMb: 1 },
  env: { A: "1" },
};

describe("a sandbox's label", () => {
  let folder: string;
  const text = () => readFileSync(join(folder, "label.json"), "utf8");
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "label-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("tells whose it is without the files it was given, and is read back whole", () => {
    writeLabel(folder, { identity, spec });
    expect(text()).not.toContain("contents");
    expect(readIdentity(folder)).toEqual(identity);
    expect(readLabel(folder)).toEqual({ identity, spec });
  });

  it("changes its holder and keeps what it was made from", () => {
    writeLabel(folder, { identity, spec });
    const next = { ...identity, attempt: 2, fence: "g" };
    takeOver(folder, { identity: next, spec: readLabel(folder)!.spec });
    expect(readIdentity(folder)).toEqual(next);
    expect(readLabel(folder)).toEqual({ identity: next, spec });
  });

  it("of an older sandbox, with all in one file, is read and taken over as well", () => {
    writeFileSync(join(folder, "label.json"), JSON.stringify({ identity, spec }));
    expect(readLabel(folder)).toEqual({ identity, spec });
    takeOver(folder, { identity, spec });
    expect(text()).not.toContain("contents");
    expect(readLabel(folder)).toEqual({ identity, spec });
  });

  it("that is half there names nobody", () => {
    expect(readIdentity(folder)).toBeUndefined();
    writeFileSync(join(folder, "label.json"), JSON.stringify({ identity }));
    expect(readLabel(folder)).toBeUndefined();
  });
});
