/** SWE-rebench rows: SWE-bench's fields, and how the repository is installed and tested. */
import { z } from "zod";
import type { Row } from "../rows/index.ts";
import type { ImportedTask, ImportOptions } from "../types.ts";
import { familyFields, imageName, logFormat, pullRequest } from "./family.ts";
import { checkDiff, optionalText, readFields, text } from "./fields.ts";
import { rowImporter } from "./read.ts";
import { testTargets } from "./repositories.ts";
import { commandVerifier, WORKDIR, withTests } from "./scripts.ts";

const lines = z
  .union([z.string(), z.array(z.string())], "text, or a list of texts")
  .transform((value) => (typeof value === "string" ? [value] : value))
  .refine((value) => value.some((line) => line.trim() !== ""), "a command");

const schema = z.object({
  ...familyFields,
  test_patch: text,
  problem_statement: text,
  docker_image: optionalText,
  image_name: optionalText,
  image: optionalText,
  workdir: optionalText,
  install_config: z.object({
    test_cmd: lines,
    log_parser: text,
    eval_commands: z
      .array(z.string())
      .nullish()
      .transform((value) => value ?? []),
  }),
});

export const sweRebenchImporter = rowImporter("swe-rebench", readTask);

function readTask(row: Row, { test, report = "pytest" }: ImportOptions): ImportedTask {
  const fields = readFields(row, schema);
  const { test_cmd, log_parser, eval_commands } = fields.install_config;
  const named = fields.docker_image ?? fields.image_name ?? fields.image;
  const tests = testTargets(fields.repo, checkDiff(row, "test_patch", fields.test_patch));
  // The second release lists its commands and says in them what is tested; the first has one, which the tests' files follow.
  const listed = Array.isArray((row.value.install_config as { test_cmd: unknown }).test_cmd);
  const [first = "", ...rest] = test_cmd;
  const commands = listed ? [first, ...rest] : [withTests(first, tests)];
  const verifier =
    test === undefined
      ? commandVerifier(
          [...eval_commands, ...commands],
          logFormat(row, "install_config.log_parser", log_parser),
        )
      : commandVerifier([...eval_commands, withTests(test, tests)], report);
  return pullRequest(row, fields, {
    format: "swe-rebench",
    image: named ?? imageName("swerebench", fields.instance_id),
    workdir: fields.workdir ?? (listed ? null : WORKDIR),
    verifier,
    notes: named === null ? ["the row names no image: SWE-rebench's published one is taken"] : [],
  });
}
