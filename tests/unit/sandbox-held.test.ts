/** A sandbox that is removed between the look at its owner and the renewal of its lease. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { renewLease } from "../../services/sandbox/held.ts";
import { newOwner, readLife, writeOwner } from "../../services/sandbox/label.ts";

const race = vi.hoisted(() => ({ remove: false }));

vi.mock("../../services/sandbox/label.ts", async (original) => {
  const label = await original<typeof import("../../services/sandbox/label.ts")>();
  const readOwner = (folder: string) => {
    const owner = label.readOwner(folder);
    if (race.remove) rmSync(folder, { recursive: true });
    return owner;
  };
  return { ...label, readOwner };
});

it("is lost, and not an error of the file system", () => {
  const folder = mkdtempSync(join(tmpdir(), "held-"));
  const owner = newOwner();
  writeOwner(folder, owner);
  renewLease({ folder, owner }, 7);
  const identity = { experiment: "e", slot: "s", attempt: 1, fence: "f", deadline: 10 };
  expect(readLife(folder, identity).lease).toBe(7);
  race.remove = true;
  expect(() => renewLease({ folder, owner }, 8)).toThrow(expect.objectContaining({ kind: "lost" }));
});
