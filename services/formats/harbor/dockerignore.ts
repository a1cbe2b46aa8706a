/** Which files of a build context the daemon gets: what .dockerignore says. Pure. */
import picomatch from "picomatch";
import type { FileChange } from "../../../core/task.ts";
import { contentOf } from "../../sandbox/index.ts";

interface Rule {
  readonly keeps: boolean;
  readonly matches: (path: string) => boolean;
}

/** The last rule that matches a file or one of its folders decides. The Dockerfile is always sent. */
export function withoutIgnored(files: readonly FileChange[], dockerfile: string): FileChange[] {
  const ignore = files.find(({ path }) => path === ".dockerignore");
  if (ignore?.kind !== "write") return [...files];
  const rules = rulesOf(contentOf(ignore).toString("utf8"));
  return files.filter(({ path }) => path === dockerfile || path === ".dockerignore" || isKept(path, rules));
}

function rulesOf(text: string): Rule[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const keeps = line.startsWith("!");
      const pattern = (keeps ? line.slice(1).trim() : line).replace(/^(?:\.?\/)+/, "").replace(/\/+$/, "");
      const matches =
        pattern === "" || pattern === "."
          ? () => false
          : picomatch(pattern, { dot: true, noextglob: true, nobrace: true, nonegate: true });
      return { keeps, matches };
    });
}

function isKept(path: string, rules: readonly Rule[]): boolean {
  const parts = path.split("/");
  const prefixes = parts.map((_, i) => parts.slice(0, i + 1).join("/"));
  let kept = true;
  for (const { keeps, matches } of rules) if (prefixes.some((prefix) => matches(prefix))) kept = keeps;
  return kept;
}
