/** `diff`: where two tries part. */
import type { Command } from "commander";
import type { Scope } from "../../../core/scope.ts";
import type { Part } from "../../control/diff.ts";
import { examples, wantsJson } from "../command.ts";
import { exitCodes, UsageError } from "../errors.ts";
import { type Column, formatTable, writeJson, writeLine } from "../output.ts";

const columns: readonly Column<Part>[] = [
  { title: "", value: ({ same, parts }) => (same ? "=" : parts ? "≠" : "·") },
  { title: "part", value: ({ part }) => part },
  { title: "first difference", value: ({ difference }) => difference ?? "" },
];

export function register(program: Command): void {
  const command = program
    .command("diff")
    .description("show where two tries part; exit code 1 when they do")
    .argument("<try>", "<experiment>/<iteration>/<try>")
    .argument("<try>", "<experiment>/<iteration>/<try>")
    .action(async (first: string, second: string, _options: unknown, self: Command) => {
      const [a, b] = [parseTry(first), parseTry(second)];
      const { diffTries, withRecord } = await import("../../control/index.ts");
      const found = await withRecord((session) => diffTries(session, a, b));
      if (!found.same) process.exitCode = exitCodes.failed;
      if (wantsJson(self)) return writeJson(found);
      writeLine(formatTable(found.parts, columns));
      const parted = found.parts.find(({ same, parts }) => parts && !same);
      writeLine(parted === undefined ? "\nthe tries are equal" : `\nthe tries part at: ${parted.part}`);
    });
  examples(command, ["diff quickstart-1/2/1 quickstart-1/2/2"]);
}

function parseTry(text: string): Scope {
  const match = /^([^/]+)\/([1-9][0-9]*)\/([1-9][0-9]*)$/.exec(text);
  if (match === null)
    throw new UsageError(
      `${JSON.stringify(text)}: expected <experiment>/<iteration>/<try>, as in quickstart-1/2/1`,
    );
  return { experiment: match[1]!, iteration: Number(match[2]), try: Number(match[3]) };
}
