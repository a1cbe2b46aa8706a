/** Boxes of an environment: of its image, where it has one, whoever opens them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { boxSpec, type PreparedEnvironment } from "../../services/environments/index.ts";
import { TEST_LIMITS } from "../../services/grading/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import { runCommand } from "../../services/synthesis/trials.ts";

const folder = mkdtempSync(join(tmpdir(), "box-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const environment = (image: PreparedEnvironment["image"]) =>
  ({
    ...{ key: "boxed@1", root: folder, image, env: { LANG: "C" } },
    mounts: [{ source: folder, target: "/own" }],
  }) as unknown as PreparedEnvironment;
const image = { reference: `sha256:${"0".repeat(64)}`, workdir: "/srv" };
const given = { overlay: [], limits: TEST_LIMITS };

it("has the environment's root, image, variables and mounts, but for other mounts that are given", () => {
  const own = [{ source: folder, target: "/own" }];
  const bare = { root: folder, env: { LANG: "C" }, mounts: own, ...given };
  expect(boxSpec(environment(null), given)).toStrictEqual(bare);
  expect(boxSpec(environment(image), given)).toStrictEqual({ ...bare, image });
  expect(boxSpec(environment(null), { ...given, mounts: [] }).mounts).toEqual([]);
});

it("is the image's for a reproduction, too: a runtime without images refuses it", async () => {
  const parts = {
    runtime: createProcessRuntime({ root: join(folder, "boxes"), nodePath: process.execPath }),
    limits: TEST_LIMITS,
  };
  await expect(
    runCommand(parts, { environment: environment(image), overlay: [] }, "true"),
  ).rejects.toMatchObject({ name: "SandboxError", kind: "unavailable", message: /image/ });
});
