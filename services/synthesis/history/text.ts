/** Wording of a commit as an issue: its message without what points at the commit, at people or at the answer. Pure. */
import { basename } from "node:path";
import type { TaskType } from "../../../core/task.ts";
import { isChore, type Line, linesOf } from "./message.ts";

export interface Told {
  readonly type: TaskType;
  readonly message: string;
  /** Files of the answer. */
  readonly files: readonly string[];
  /** Lines of the answer that its base lacks, white space squeezed. */
  readonly goldLines: readonly string[];
  /** Functions that the answer changes and its tests do not name: what stands with one says where to look. */
  readonly inner: readonly string[];
}

const TRAILER =
  /^(signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|suggested-by|cc|change-id|pr-url|refs?|see( also)?|closes?|fixes|resolves?|git-svn-id|backport\w*)\b:?\s*(#|:|https?:|[\w.-]+\/[\w.-]+#)|^(signed-off-by|co-authored-by|reviewed-by|change-id|pr-url|git-svn-id):/i;
const DIFF = /^(diff --git |index [0-9a-f]{7,}|--- |\+\+\+ |@@ )/;
const HEADING =
  /^(#{1,6}\s|[=-]{3,}$|\*\*[^*]+\*\*$)|^(commits|merged|fixed|added|changed|removed|security)$/i;
const VERSION =
  /^(version |release |bump )?(to )?[\w@/.-]*?\bv?\d+\.\d+(\.\d+)?(-[\w.]+)?(\s*\(?[\d/. -]*\)?)?$/i;
/** Longer ones are no title. */
const TITLE_CHARACTERS = 140;

/** Without a diff, from its head to the next empty line, and without fenced blocks. */
function prose(message: string): string {
  const kept: string[] = [];
  let inDiff = false;
  let inFence = false;
  for (const line of message.split(/\r?\n/)) {
    if (/^\s*(```|~~~)/.test(line)) inFence = !inFence;
    else if (DIFF.test(line)) inDiff = true;
    else if (line.trim() === "") inDiff = false;
    if (!inDiff && !inFence && !/^\s*(```|~~~)/.test(line)) kept.push(line);
  }
  return kept.join("\n");
}

/** Links, numbers of issues, hashes and people. */
export function withoutPointers(text: string): string {
  return text
    .replace(/\[`?([0-9a-f]{7,40}|#\d+|[\w.-]+\/[\w.-]+#\d+|@[\w-]+)`?\]\([^)]*\)/gi, "")
    .replace(/\[([^\]]+)\]\([^)\s]*\)/g, "$1")
    .replace(/(?:\b(?:see|via|at|from|in|per)\s*:?\s+)?<?\bhttps?:\/\/[^\s)>\]]+>?/gi, "")
    .replace(
      /(?:\b(?:closes?|fix(?:es)?|resolves?|refs?|see|via|in|per|from|issues?|pull requests?|pr|gh)\s*:?\s*)?(?:\b[\w.-]+\/[\w.-]+)?#\d+\b|\bGH-\d+\b/gi,
      "",
    )
    .replace(
      /(?:\b(?:commit|in|since|from|of|rev)\s+)?\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b/g,
      "",
    )
    .replace(
      /(?:\b(?:thanks|thank you|thx|kudos|props)\b[,:]?\s*(?:to\s+)?)(?:@[\w-]+(?:\s*(?:,|and|&)\s*@[\w-]+)*)?/gi,
      "",
    )
    .replace(/(?:\bby\s+)?(?<![\w/])@[a-z\d](?:[a-z\d-]*[a-z\d])?(?![\w/@-])/gi, "")
    .replace(/[\w.+-]+@[\w-]+\.[\w.]+/g, "")
    .replace(/[([](?:[\s,;:&/-]|\b(?:and|in|by|via|see|from|for|of)\b)*[)\]]/gi, "")
    .replace(/\s+([,.;:])/g, "$1")
    .replace(/[ \t]{2,}/g, " ")
    .replace(/[\s,;:–-]+$/g, "")
    .trim();
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const names = (text: string, name: string): boolean =>
  new RegExp(`(^|[^\\w$])${escaped(name)}($|[^\\w$])`).test(text);

function withoutFiles(text: string, files: readonly string[]): string {
  const named = [...new Set(files.flatMap((path) => [path, basename(path)]))].sort(
    (a, b) => b.length - a.length,
  );
  return named.reduce(
    (left, name) =>
      left.replace(
        new RegExp(
          `(?:\\b(?:in|of|from|to|for)\\s+)?[\`'"]?(?:\\./)?${escaped(name)}(?![\\w/-])[\`'"]?:?`,
          "g",
        ),
        "",
      ),
    text,
  );
}

/** One line; "" where nothing of it may be said. */
function told(line: Line, { files, goldLines, inner }: Told): string {
  const squeezed = line.text.replace(/\s+/g, " ").trim();
  if (HEADING.test(squeezed) || VERSION.test(squeezed) || TRAILER.test(squeezed)) return "";
  if (goldLines.some((gold) => squeezed.includes(gold))) return "";
  if (inner.some((name) => names(squeezed, name))) return "";
  const text = withoutPointers(withoutFiles(squeezed, files));
  return /\p{L}{3}/u.test(text) ? text : "";
}

const FALLBACK: Readonly<Record<TaskType, string>> = {
  bug: "some results are wrong",
  feature: "something is missing",
  refactor: "the code needs another structure",
  migration: "another module is to do the work",
  performance: "it takes too long",
};

/** What is wrong, not what was done about it. */
function neutral(text: string, type: TaskType): string {
  const bare =
    type === "bug"
      ? text.replace(
          /^(bug ?)?fix(es|ed|ing)?(\s+(an?|the)\s+(bug|issue|problem)(\s+(where|when|with|in|that))?)?\b[:,]?\s+(?=\S)/i,
          "",
        )
      : text;
  const plain = /^[a-z]+(?=\s|$)/.test(bare) ? `${bare[0]!.toUpperCase()}${bare.slice(1)}` : bare;
  return plain.replace(/\.$/, "");
}

export function textOfCommit(of: Told): { readonly title: string; readonly body: string } {
  const lines = linesOf(prose(of.message))
    .filter((line) => !isChore(line))
    .map((line) => told(line, of))
    .filter((text) => text !== "");
  const unique = [...new Set(lines)];
  const first = unique.findIndex((text) => text.length <= TITLE_CHARACTERS);
  const title = first < 0 ? FALLBACK[of.type] : neutral(unique[first]!, of.type);
  const others = unique.filter((_, i) => i !== first);
  const body = others.length === 1 ? others[0]! : others.map((text) => `- ${text}`).join("\n");
  return { title, body };
}
