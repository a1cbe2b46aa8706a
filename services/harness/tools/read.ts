/** Read: a text file with numbered lines. */
import { displayPath, pathArgument, readText } from "./files.ts";
import { splitLines, toInteger, truncate } from "./python.ts";
import { define, type Tool } from "./tool.ts";

/** Leaf's limit, in characters. */
const MAX_CHARS = 20_000;

export const read: Tool = {
  definition: define(
    "Read",
    "Show a text file, each line with its number.",
    {
      file_path: { type: "string", description: "The file to show." },
      offset: { type: "integer", description: "Number of the first line to show, from 1. Optional." },
      limit: { type: "integer", description: "How many lines to show at most. Optional." },
    },
    ["file_path"],
  ),
  async run({ sandbox }, args) {
    const path = pathArgument(sandbox.workdir, args, "file_path");
    const lines = splitLines(await readText(sandbox, path));
    const offset = Math.max(1, toInteger(args.offset, 1));
    const limit = toInteger(args.limit, 0);
    const shown = lines
      .slice(offset - 1, limit <= 0 ? undefined : offset - 1 + limit)
      .map((line, i) => `${offset + i}. ${line}`);
    return truncate(`${displayPath(sandbox.workdir, path)}\n${shown.join("\n")}`, MAX_CHARS);
  },
};
