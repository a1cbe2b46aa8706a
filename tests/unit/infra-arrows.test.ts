/** The import arrows, tried on a small project that breaks each of them. */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkArrows } from "../../infra/arrows.ts";
import { packageRoot } from "../../infra/stack/paths.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "tadpole-arrows-"));
  copyFileSync(join(packageRoot, "tsconfig.json"), join(root, "tsconfig.json"));
  symlinkSync(join(packageRoot, "node_modules"), join(root, "node_modules"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function project(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(root, name);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  copyFileSync(join(packageRoot, "tsconfig.json"), join(folder, "tsconfig.json"));
  symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
  return folder;
}

const value = "export const value = 1;\n";
const load = (from: string) => `import { value } from "${from}";\nexport const used = value;\n`;
const loadType = (from: string) =>
  `import type { value } from "${from}";\nexport type Used = typeof value;\n`;

describe("checkArrows", () => {
  it("finds each wrong import and nothing else", async () => {
    const folder = project("wrong", {
      "core/pure.ts": value,
      "core/schemas/zod.ts": 'import { z } from "zod";\nexport const value = z.number();\n',
      "core/impure.ts": 'import { z } from "zod";\nexport const used = z;\n',
      "core/clock.ts": 'import { hrtime } from "node:process";\nexport const used = hrtime;\n',
      "core/upward.ts": load("../services/a/index.ts"),
      "core/lost.ts": load("./nowhere.ts"),
      "services/a/index.ts": load("../../core/pure.ts")
        .replace("used", "value2")
        .concat(value.replace("value", "value3")),
      "services/a/inside.ts": value,
      "services/b/index.ts": load("../a/inside.ts"),
      "services/b/types.ts": loadType("../a/index.ts"),
      "services/c/one.ts": load("./two.ts").concat(value.replace("value", "back")),
      "services/c/two.ts": 'import { back } from "./one.ts";\nexport const value = () => back;\n',
      "services/up.ts": load("../activities/verb.ts"),
      "activities/verb.ts": value,
      "activities/up.ts": load("../workflows/good.ts").replace("value", "used as value"),
      "workflows/good.ts": loadType("../activities/verb.ts").concat("export const used = 1;\n"),
      "workflows/runs.ts": load("../activities/verb.ts"),
      "workflows/schema.ts": load("../core/schemas/zod.ts"),
      "workflows/bundle.ts": 'import OpenAI from "openai";\nexport const used = OpenAI;\n',
      "workflows/clock.ts": 'import { hrtime } from "node:process";\nexport const used = hrtime;\n',
      "workflows/temporal.ts": 'import { sleep } from "@temporalio/workflow";\nexport const used = sleep;\n',
      "workers/up.ts": load("../apps/face.ts"),
      "infra/stack/up.ts": load("../../workers/up.ts").replace("value", "used as value"),
      "apps/face.ts": value,
      "apps/deep.ts": load("../services/a/inside.ts"),
      "apps/fine.ts": load("../services/store/anything.ts"),
      "services/store/anything.ts": value,
    });
    const { problems, files } = await checkArrows(folder);
    expect(files).toBe(27);
    expect([...problems].sort()).toEqual([
      "activities/up.ts → workflows/good.ts (activities-see-services)",
      "apps/deep.ts → services/a/inside.ts (apps-are-faces)",
      "core/clock.ts → process (core-no-node)",
      expect.stringMatching(/^core\/impure\.ts → .*zod.* \(core-no-packages\)$/),
      "core/lost.ts → ./nowhere.ts (no-unresolved)",
      "core/upward.ts → services/a/index.ts (core-is-pure)",
      "infra/stack/up.ts → workers/up.ts (infra-below-workers)",
      "services/b/index.ts → services/a/inside.ts (services-by-index)",
      "services/c/one.ts → services/c/two.ts (no-cycles)",
      "services/up.ts → activities/verb.ts (services-see-core)",
      "workers/up.ts → apps/face.ts (workers-below-apps)",
      expect.stringMatching(/^workflows\/bundle\.ts → .*openai.* \(workflows-small-bundle\)$/),
      "workflows/clock.ts → process (workflows-no-node)",
      "workflows/runs.ts → activities/verb.ts (workflows-types-of-activities)",
      "workflows/schema.ts → core/schemas/zod.ts (workflows-see-core)",
    ]);
  });

  it("fails where it finds nothing to look at", async () => {
    const { problems } = await checkArrows(project("empty", { "core/readme.md": "" }));
    expect(problems).toEqual([expect.stringContaining("no TypeScript file in core")]);
  });
});
