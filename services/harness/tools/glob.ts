/** Glob: files by pattern. */
import { posix } from "node:path";
import { displayPath, isFile, listFiles, resolvePath } from "./files.ts";
import { globMatcher, hasMagic } from "./pattern.ts";
import { isTruthy, ToolError, textOrEmpty, toText } from "./python.ts";
import { define, type Tool } from "./tool.ts";

/** Leaf's limit, in files. */
const MAX_FILES = 1000;

export const glob: Tool = {
  definition: define(
    "Glob",
    "List the files whose paths match a pattern.",
    {
      pattern: { type: "string", description: "A glob pattern such as lib/**/*.js." },
      path: { type: "string", description: "The folder to look in. Optional." },
    },
    ["pattern"],
  ),
  async run({ sandbox }, args) {
    const { workdir } = sandbox;
    const pattern = textOrEmpty(args.pattern);
    if (pattern === "") throw new ToolError("ValueError", "pattern is required");
    const root = resolvePath(workdir, isTruthy(args.path) ? toText(args.path) : ".");
    // `..` goes by name: behind a symlinked folder Python would go by the target's parent.
    const parts = posix.normalize(resolvePath(root, pattern)).slice(1).split("/");
    const fixed = parts.findIndex(hasMagic);
    const matches: string[] = [];
    if (fixed < 0) {
      const path = `/${parts.join("/")}`;
      if (await isFile(sandbox, path)) matches.push(path);
    } else {
      const folder = `/${parts.slice(0, fixed).join("/")}`;
      const matcher = globMatcher(parts.slice(fixed));
      for (const file of await listFiles(sandbox, folder)) {
        const below = file.path.slice(folder === "/" ? 1 : folder.length + 1);
        if (!matcher(below.split("/"))) continue;
        if (!file.symlink || (await isFile(sandbox, file.path))) matches.push(file.path);
      }
    }
    if (matches.length === 0) return "No files matched.";
    // UTF-8 order is code point order, Python's; UTF-16 order is not.
    const shown = matches
      .map((path) => displayPath(workdir, path))
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const rest = shown.length - MAX_FILES;
    return shown.slice(0, MAX_FILES).join("\n") + (rest > 0 ? `\n... ${rest} more files` : "");
  },
};
