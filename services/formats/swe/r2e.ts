/** R2E-Gym rows: an image with hidden tests, and the exact status that each of them ends with. */
import { z } from "zod";
import type { FileChange, StatusMap, TestStatus } from "../../../core/task.ts";
import { checkedPath, DiffError } from "../diff/index.ts";
import { describe, type Row } from "../rows/index.ts";
import { ImportError, type ImportedTask, type TreeEdit } from "../types.ts";
import { checkedText, optionalText, readFields, text } from "./fields.ts";
import { rowImporter } from "./read.ts";
import { exactVerifier, WORKDIR } from "./scripts.ts";

const schema = z.object({
  repo_name: text,
  commit_hash: text,
  instance_id: optionalText,
  docker_image: text,
  problem_statement: text,
  expected_output_json: text,
  parsed_commit_content: optionalText,
});

export const r2eGymImporter = rowImporter("r2e-gym", readTask);

/** Only the verifier may see them: the tests, the script that runs them, and what they are expected to say. */
const HIDDEN = [
  ...["/r2e_tests", "/root/r2e_tests", "/root/run_tests.sh"],
  ...[
    "r2e_tests",
    "run_tests.sh",
    "expected_test_output.json",
    "execution_result.json",
    "syn_issue.json",
  ].map((name) => `${WORKDIR}/${name}`),
  ...["parsed_commit.json", "modified_files.json", "modified_entities.json"].map(
    (name) => `${WORKDIR}/${name}`,
  ),
];

function readTask(row: Row): ImportedTask {
  const fields = readFields(row, schema);
  const exact = readExpected(row, fields.expected_output_json);
  const gold = fields.parsed_commit_content === null ? null : readCommit(row, fields.parsed_commit_content);
  const passed = Object.keys(exact).filter((name) => exact[name] === "passed");
  return {
    origin: {
      format: "r2e-gym",
      id: fields.instance_id ?? `${fields.repo_name}__${fields.commit_hash}`,
      ...row.at,
    },
    type: "bug",
    statement: { level: 0, text: issueOf(fields.problem_statement) },
    environment: {
      image: { kind: "image", reference: fields.docker_image },
      workdir: WORKDIR,
      env: { PATH: PATH_OF_IMAGES },
      limits: {},
      cpus: null,
      network: "none",
      hidden: HIDDEN,
    },
    base: [],
    gold,
    tests: [],
    hiddenFiles: [],
    // Which of them fail before is known only by running them; the exact map judges whatever is listed here.
    failToPass: [],
    passToPass: passed,
    verifier: exactVerifier(exact),
    notes: gold === null ? ["the row has no parsed_commit_content: no solution is known"] : [],
  };
}

/** What R2E-Gym's own runs have: the repository's virtual environment comes first. */
const PATH_OF_IMAGES = `${WORKDIR}/.venv/bin:/root/.venv/bin:/root/.local/bin:/root/.cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;

const issueOf = (statement: string): string =>
  /\[ISSUE\]([\s\S]*)\[\/ISSUE\]/.exec(statement)?.[1]?.trim() ?? statement;

const STATUSES: Readonly<Record<string, TestStatus>> = {
  PASSED: "passed",
  FAILED: "failed",
  ERROR: "failed",
  SKIPPED: "skipped",
  XFAIL: "xfail",
};

function readJson(row: Row, field: string, content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new ImportError("field", { ...row.at, field }, "JSON in a text", (error as Error).message);
  }
}

function readExpected(row: Row, content: string): StatusMap {
  const field = "expected_output_json";
  const found = checkedText(row, readJson(row, field, content), [field]);
  if (typeof found !== "object" || found === null || Array.isArray(found) || Object.keys(found).length === 0)
    throw new ImportError(
      "field",
      { ...row.at, field },
      "an object of test names and statuses",
      describe(found),
    );
  const exact: Record<string, TestStatus> = {};
  for (const [key, value] of Object.entries(found)) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours of a terminal are in the names of some rows
    const name = key.replace(/\u001b\[\d+m/g, "").split(" - ")[0]!;
    const status = typeof value === "string" ? STATUSES[value] : undefined;
    if (status === undefined)
      throw new ImportError(
        "field",
        { ...row.at, field: `${field}.${name}` },
        `one of ${Object.keys(STATUSES).join(", ")}`,
        describe(value),
      );
    exact[name] = status;
  }
  return exact;
}

const fileDiff = z.object({
  header: z.object({ file: z.object({ path: z.string() }) }),
  is_binary_file: z.boolean().nullish(),
  new_file_content: z.string().nullish(),
});
const commit = z.object({ file_diffs: z.array(fileDiff) });

/** The solution: what the commit makes of files that are no tests. */
function readCommit(row: Row, content: string): TreeEdit {
  const field = "parsed_commit_content";
  const value = readJson(row, field, content);
  const { file_diffs } = readFields(
    { at: row.at, key: null, value: { [field]: value } },
    z.object({ [field]: commit }),
  )[field] as z.infer<typeof commit>;
  const changes = file_diffs.flatMap(({ header, is_binary_file, new_file_content }): FileChange[] => {
    const path = pathOf(row, `${field}.file_diffs`, header.file.path);
    if (isTest(path)) return [];
    if (is_binary_file === true)
      throw new ImportError(
        "unsupported",
        { ...row.at, field: `${field}.file_diffs` },
        "text files",
        `the binary ${path}`,
      );
    if (new_file_content == null || new_file_content === "") return [{ kind: "delete", path }];
    return [{ kind: "write", path, content: new_file_content, encoding: "utf8" }];
  });
  return { kind: "changes", field, changes };
}

function pathOf(row: Row, field: string, path: string): string {
  try {
    return checkedPath(Buffer.from(path).toString("latin1"));
  } catch (error) {
    if (!(error instanceof DiffError)) throw error;
    throw new ImportError("field", { ...row.at, field }, "paths inside the repository", error.message);
  }
}

const isTest = (path: string): boolean =>
  path.split("/").some((part) => part === "tests" || part === "test" || part === "r2e_tests") ||
  /(^|\/)(test_[^/]*|[^/]*_test)\.py$/.test(path);
