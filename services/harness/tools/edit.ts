/** Edit: replaces an exact string in a file. */
import { displayPath, pathArgument, readText, writeText } from "./files.ts";
import { isFlagSet, ToolError, textOrEmpty } from "./python.ts";
import { define, type Tool } from "./tool.ts";

export const edit: Tool = {
  definition: define(
    "Edit",
    "Replace a string that occurs in a text file.",
    {
      file_path: { type: "string", description: "The file to change." },
      old_string: { type: "string", description: "The text to replace, exactly as it stands in the file." },
      new_string: { type: "string", description: "The text to put in its place." },
      replace_all: {
        type: "boolean",
        description: "Replace each occurrence; otherwise there must be exactly one.",
      },
    },
    ["file_path", "old_string", "new_string"],
  ),
  async run({ sandbox }, args) {
    const path = pathArgument(sandbox.workdir, args, "file_path");
    const before = textOrEmpty(args.old_string);
    const after = textOrEmpty(args.new_string);
    if (before === "") throw new ToolError("ValueError", "old_string must be non-empty");
    const parts = (await readText(sandbox, path)).split(before);
    const count = parts.length - 1;
    if (count === 0) throw new ToolError("ValueError", "old_string was not found");
    if (count > 1 && !isFlagSet(args.replace_all))
      throw new ToolError(
        "ValueError",
        `old_string matched ${count} times; set replace_all=true or use a more specific old_string`,
      );
    await writeText(sandbox, path, parts.join(after));
    return `Edited ${displayPath(sandbox.workdir, path)} (${count} replacement${count === 1 ? "" : "s"}).`;
  },
};
