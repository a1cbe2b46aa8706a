/**
 * What the replay lane is for: an edit of a workflow's source that a running experiment would not survive makes it fail, and the same edit behind
 * `patched` (docs/upgrading.md) does not. The sources are copied, edited and bundled; histories on record are replayed against them.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { bundleWorkflowCode, DefaultLogger, Worker, type WorkflowBundle } from "@temporalio/worker";
import { DeterminismViolationError } from "@temporalio/workflow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../infra/stack/index.ts";

const histories = readdirSync(join(import.meta.dirname, "histories")).filter((file) =>
  file.endsWith(".json.gz"),
);
const workflowOf = (file: string) => file.split(".")[0]!;
const workflows = [...new Set(histories.map(workflowOf))];

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** The text after the opening brace of `export async function <name>(…): … {`. */
function insertAtStart(source: string, workflow: string, statement: string): string {
  // The first line that ends in " {" from the declaration on opens the body: formatted sources have it so.
  const opening = new RegExp(`^export async function ${workflow}\\b[\\s\\S]*?\\{$`, "m");
  const found = opening.exec(source);
  if (found === null) throw new Error(`workflows/${workflow}.ts: no "export async function ${workflow}"`);
  const end = found.index + found[0].length;
  return `${source.slice(0, end)}\n  ${statement}\n${source.slice(end)}`;
}

/** A bundle in which every workflow that has a history begins with `statement`. */
async function editedBundle(statement: string): Promise<WorkflowBundle> {
  const folder = mkdtempSync(join(tmpdir(), "tadpole-edited-"));
  folders.push(folder);
  for (const name of ["workflows", "core", "activities"])
    cpSync(join(packageRoot, name), join(folder, name), { recursive: true });
  symlinkSync(join(packageRoot, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  for (const workflow of workflows) {
    const file = join(folder, "workflows", `${workflow}.ts`);
    const edited = insertAtStart(readFileSync(file, "utf8"), workflow, statement);
    writeFileSync(
      file,
      `import { patched as isPatched, sleep as wait } from "@temporalio/workflow";\n${edited}`,
    );
  }
  return bundleWorkflowCode({
    workflowsPath: join(folder, "workflows/index.ts"),
    logger: new DefaultLogger("ERROR"),
  });
}

function replay(workflowBundle: WorkflowBundle, file: string): Promise<void> {
  const path = join(import.meta.dirname, "histories", file);
  const history = JSON.parse(gunzipSync(readFileSync(path)).toString("utf8"));
  return Worker.runReplayHistory({ workflowBundle }, history);
}

describe("an edit that changes the order of commands", () => {
  let bundle: WorkflowBundle;
  beforeAll(async () => {
    bundle = await editedBundle("await wait(1000);");
  });

  it("finds the workflows to edit, and says so where it does not", () => {
    expect(workflows.length).toBeGreaterThanOrEqual(9);
    expect(() => insertAtStart("export async function other() {\n}", "climb", "")).toThrow(
      /workflows\/climb/,
    );
  });

  it.each(histories)("fails the replay of %s", async (file) => {
    await expect(replay(bundle, file)).rejects.toThrow(DeterminismViolationError);
  });
});

describe("the same edit behind patched", () => {
  let bundle: WorkflowBundle;
  beforeAll(async () => {
    bundle = await editedBundle('if (isPatched("wait-first")) await wait(1000);');
  });

  it.each(histories)("leaves %s as it ran", async (file) => {
    await replay(bundle, file);
  });
});
