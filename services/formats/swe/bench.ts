/** SWE-bench rows: a pull request, its tests, and the names of those that it makes pass. */
import { z } from "zod";
import type { Verifier } from "../../../core/task.ts";
import type { Row } from "../rows/index.ts";
import { ImportError, type ImportedTask, type ImportOptions } from "../types.ts";
import { familyFields, imageName, logFormat, pullRequest } from "./family.ts";
import { checkDiff, optionalText, readFields, text } from "./fields.ts";
import { rowImporter } from "./read.ts";
import { repositoryOf, testTargets } from "./repositories.ts";
import { commandVerifier, evalScriptVerifier, WORKDIR, withTests } from "./scripts.ts";

const schema = z.object({
  ...familyFields,
  test_patch: text,
  problem_statement: text,
  image: optionalText,
  eval_script: optionalText,
  log_parser: optionalText,
  eval_type: optionalText,
});

export const sweBenchImporter = rowImporter("swe-bench", readTask);

function readTask(row: Row, options: ImportOptions): ImportedTask {
  const fields = readFields(row, schema);
  if (fields.eval_type !== null && fields.eval_type !== "pass_and_fail")
    throw new ImportError(
      "unsupported",
      { ...row.at, field: "eval_type" },
      '"pass_and_fail" (a test that is not reported never counts as passed here)',
      JSON.stringify(fields.eval_type),
    );
  const tests = checkDiff(row, "test_patch", fields.test_patch);
  return pullRequest(row, fields, {
    format: "swe-bench",
    image: fields.image ?? imageName("swebench", fields.instance_id),
    workdir: WORKDIR,
    verifier: verifierOf(row, fields, tests, options),
    notes: fields.image === null ? ["the row names no image: SWE-bench's published one is taken"] : [],
  });
}

function verifierOf(
  row: Row,
  fields: z.infer<typeof schema>,
  tests: readonly string[],
  { test, report = "pytest" }: ImportOptions,
): Verifier {
  const { repo, eval_script: script } = fields;
  const targets = testTargets(repo, tests);
  if (test !== undefined) return commandVerifier([withTests(test, targets)], report);
  const known = repositoryOf(repo);
  if (script !== null) {
    const parser = fields.log_parser ?? known?.logParser;
    if (parser === undefined)
      throw new ImportError(
        "field",
        { ...row.at, field: "log_parser" },
        "the name of a log parser",
        "nothing",
      );
    return evalScriptVerifier(script, logFormat(row, "log_parser", parser));
  }
  if (known === undefined)
    throw new ImportError(
      "field",
      { ...row.at, field: "eval_script" },
      `a script (or --test), since no test command of ${repo} is known`,
      "nothing",
    );
  return commandVerifier([withTests(known.command, targets)], logFormat(row, "repo", known.logParser));
}
