/** Write: a whole file. */
import { displayPath, pathArgument, writeText } from "./files.ts";
import { codePoints, toText } from "./python.ts";
import { define, type Tool } from "./tool.ts";

export const write: Tool = {
  definition: define(
    "Write",
    "Write a file in full; missing folders are made.",
    {
      file_path: { type: "string", description: "The file to write." },
      content: { type: "string", description: "Everything the file shall hold." },
    },
    ["file_path", "content"],
  ),
  async run({ sandbox }, args) {
    const path = pathArgument(sandbox.workdir, args, "file_path");
    const content = args.content === undefined ? "" : toText(args.content);
    await writeText(sandbox, path, content);
    // Leaf says "bytes" and counts characters.
    return `Wrote ${displayPath(sandbox.workdir, path)} (${codePoints(content)} bytes).`;
  },
};
