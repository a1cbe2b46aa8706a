/** SWE-smith rows: the patch is the bug, and its reverse the solution. */
import { z } from "zod";
import type { Row } from "../rows/index.ts";
import { ImportError, type ImportedTask, type ImportOptions } from "../types.ts";
import { distinct, familyFields, filesOfTests, requireTests } from "./family.ts";
import { checkDiff, readFields, text } from "./fields.ts";
import { rowImporter } from "./read.ts";
import { commandVerifier, WORKDIR, withTests } from "./scripts.ts";

const schema = z.object({
  ...familyFields,
  problem_statement: z
    .string()
    .nullish()
    .transform((value) => value ?? ""),
  image_name: text,
});

/** Not every image has both names. */
const PYTHON = '"$(command -v python || command -v python3)"';

/** What a row without a statement tells: no more than that something is wrong. */
const UNSTATED =
  "Something in this repository does not work any more: some of its tests, which passed before, fail now. Find the mistake in the sources and repair it.";

export const sweSmithImporter = rowImporter("swe-smith", readTask);

function readTask(row: Row, { test, report = "pytest" }: ImportOptions): ImportedTask {
  const fields = readFields(row, schema);
  const failToPass = distinct(fields.FAIL_TO_PASS);
  const passToPass = distinct(fields.PASS_TO_PASS);
  requireTests(row, failToPass);
  checkDiff(row, "patch", fields.patch, true);
  const files = filesOfTests([...failToPass, ...passToPass]);
  if (test === undefined && failToPass.some((name) => !name.includes("::")))
    throw new ImportError(
      "unsupported",
      { ...row.at, field: "FAIL_TO_PASS" },
      "ids of pytest (or --test and --report), since rows name no test command",
      JSON.stringify(failToPass.find((name) => !name.includes("::"))),
    );
  const command = test ?? `${PYTHON} -m pytest -rA --tb=no --color=no -p no:cacheprovider {tests}`;
  const stated = fields.problem_statement.trim() !== "";
  return {
    origin: { format: "swe-smith", id: fields.instance_id, ...row.at },
    type: "bug",
    statement: { level: 0, text: stated ? fields.problem_statement : UNSTATED },
    environment: {
      image: { kind: "image", reference: imageOf(fields.image_name) },
      workdir: WORKDIR,
      env: {},
      limits: {},
      cpus: null,
      network: "none",
    },
    base: [{ kind: "diff", field: "patch", text: fields.patch, reverse: false }],
    gold: { kind: "diff", field: "patch", text: fields.patch, reverse: true },
    tests: [],
    // As SWE-smith's own boxes have it: the tests that tell of the bug are not there.
    hiddenFiles: filesOfTests(failToPass),
    testFiles: files,
    failToPass,
    passToPass,
    verifier: commandVerifier([withTests(command, files)], report),
    notes: [
      "a test that is not reported counts as failed; SWE-smith's own grader takes it as passed",
      ...(stated ? [] : ["the row has no statement: one of level 0 was written"]),
    ],
  };
}

/** Names without an owner are of the images that SWE-smith publishes. */
const imageOf = (name: string): string =>
  name.includes("/") || name.includes(":") ? name : `jyangballin/${name.replaceAll("__", "_1776_")}:latest`;
