/** Reads TAP with subtests (indented by four, as node:test and tap print them). Pure, one pass. */
import type { TestStatus } from "../../../core/task.ts";
import { splitDirective, statusOf } from "./tap.ts";
import { indentOf } from "./text.ts";

export interface TreeResult {
  /** Names from the outermost test inwards. */
  readonly path: readonly string[];
  readonly status: TestStatus;
  readonly hasChildren: boolean;
}

export interface TapTree {
  readonly results: readonly TreeResult[];
  /** One plan at each level, results numbered from 1 without a gap and as many as planned, and no bail-out. */
  readonly complete: boolean;
  /** Comments of the outermost level after its plan: node's summary. */
  readonly comments: readonly string[];
}

/** Printed before a subtest's own lines; TAP without it is flat. */
export const SUBTEST = "# Subtest: ";

const INDENT = 4;

/**
 * node:test gives a file that reported no test a line of its own, numbered by the file's place among the files: the only numbers that need not
 * follow each other.
 */
export const FILE_TITLE = /^\S+\.[cm]?[jt]sx?$/;

interface Level {
  results: number;
  plan: number | undefined;
  sound: boolean;
}

const newLevel = (): Level => ({ results: 0, plan: undefined, sound: true });
const isWhole = (level: Level): boolean => level.sound && level.plan === level.results;

export function readTapTree(lines: readonly string[]): TapTree {
  const results: TreeResult[] = [];
  const comments: string[] = [];
  const path: string[] = [];
  const levels: Level[] = [newLevel()];
  let complete = true;
  /** Indentation of the YAML block the line is in. */
  let yaml: number | undefined;

  const close = (depth: number): boolean => {
    const open = levels.length > depth;
    while (levels.length > depth) if (!isWhole(levels.pop()!)) complete = false;
    return open;
  };

  for (const line of lines) {
    const indent = indentOf(line);
    const content = line.slice(indent);
    if (yaml !== undefined) {
      if (indent === yaml && content === "...") yaml = undefined;
      continue;
    }
    if (content === "---" && indent % INDENT === 2) {
      yaml = indent;
      continue;
    }
    const depth = indent / INDENT;
    const level = levels[depth];
    if (content.startsWith(SUBTEST) && level !== undefined) {
      close(depth + 1);
      path[depth] = unescaped(content.slice(SUBTEST.length));
      levels.push(newLevel());
      continue;
    }
    if (level === undefined) {
      // Of a test that was not named: its line was lost.
      if (Number.isInteger(depth) && /^(?:# Subtest: |(?:not )?ok\b|1\.\.\d)/.test(content)) complete = false;
      continue;
    }
    const plan = /^1\.\.(\d+)\s*(?:#.*)?$/.exec(content);
    const result = /^(not )?ok\b(?: +(\d+))?(?: +(.*))?$/.exec(content);
    if (plan) {
      if (level.plan !== undefined) level.sound = false;
      level.plan = Number(plan[1]);
    } else if (/^Bail out!/i.test(content)) complete = false;
    else if (result) {
      const [, not, number, rest = ""] = result;
      level.results++;
      const block = rest.endsWith(" {");
      const { name, directive } = splitDirective(block ? rest.slice(0, -2) : rest);
      const title = unescaped(withoutTime(name));
      const inOrder = number === undefined || Number(number) === level.results;
      if (!inOrder && !(depth === 0 && FILE_TITLE.test(title))) level.sound = false;
      // Node opens a level for every test, and prints none of it for one without subtests.
      const inner = levels[depth + 1];
      const hasChildren = inner !== undefined && (inner.results > 0 || inner.plan !== undefined);
      if (inner !== undefined && !hasChildren) levels.length = depth + 1;
      else close(depth + 1);
      results.push({
        path: [...path.slice(0, depth), title],
        status: statusOf(not === undefined, directive),
        hasChildren: hasChildren || block,
      });
      if (block) {
        path[depth] = title;
        levels.push(newLevel());
      }
    } else if (depth === 0 && level.plan !== undefined && content.startsWith("# ")) {
      comments.push(content.slice(2));
    }
  }
  close(0);
  return { results, complete, comments };
}

/** TAP escapes what would start a directive. */
const unescaped = (text: string): string => text.replace(/\\([\\#])/g, "$1");

/** tap appends how long a test took. */
function withoutTime(name: string): string {
  const at = name.lastIndexOf(" # time=");
  return at < 0 ? name : name.slice(0, at);
}
