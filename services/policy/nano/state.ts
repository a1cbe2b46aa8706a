/** What the embedded policy knows after each message of a conversation. Immutable: a message gives a new state. */
import { argumentsOf, type Call, difference, lineEnd, lineStart } from "./calls.ts";
import { type Issue, readIssue } from "./issue.ts";

/** What the reproduction printed after a change; `unknown` = it was not run since. */
export type Effect = "unknown" | "passed" | "partial" | "changed" | "same" | "error";

export interface AppliedEdit {
  readonly path: string;
  /** The file's text before it. */
  readonly previous: string;
  readonly key: string;
}

export interface TriedEdit {
  readonly path: string;
  /** 1-based, of the first changed character. */
  readonly line: number;
  readonly effect: Effect;
}

export interface State {
  readonly issue: Issue;
  /** Null until a Glob has answered. */
  readonly files: readonly string[] | null;
  /** Text of each file that was read, as it is now. */
  readonly texts: ReadonlyMap<string, string>;
  /** Edits that are not undone, oldest first. */
  readonly applied: readonly AppliedEdit[];
  /** By key of the change. */
  readonly tried: ReadonlyMap<string, TriedEdit>;
  /** Of the tree as it is now. */
  readonly check: Effect;
  readonly checks: number;
  readonly turns: number;
}

export const NO_STATE: State = {
  issue: readIssue(""),
  files: null,
  texts: new Map(),
  applied: [],
  tried: new Map(),
  check: "unknown",
  checks: 0,
  turns: 0,
};

/**
 * Names a change by the first line it changes and what that line becomes: the same whatever edits were made on other lines.
 * `start` = first changed offset of `to`.
 */
export function changeKey(
  path: string,
  to: string,
  start: number,
  line = lineOf(to, start),
): { readonly key: string; readonly line: number } {
  return { key: `${path}:${line}:${to.slice(lineStart(to, start), lineEnd(to, start))}`, line };
}

function lineOf(text: string, offset: number): number {
  let line = 1;
  for (let i = text.indexOf("\n"); i >= 0 && i < offset; i = text.indexOf("\n", i + 1)) line++;
  return line;
}

/** Null when the result does not show a file from its first line on. */
function readResult(result: string): { path: string; text: string } | null {
  const newline = result.indexOf("\n");
  if (newline < 0) return null;
  const body = result.slice(newline + 1).replace(/\n\[truncated \d+ chars\]$/, "");
  const texts: string[] = [];
  for (const [index, line] of (body === "" ? [] : body.split("\n")).entries()) {
    const number = `${index + 1}. `;
    if (!line.startsWith(number)) return null;
    texts.push(line.slice(number.length));
  }
  return { path: result.slice(0, newline), text: texts.join("\n") };
}

function afterRead(state: State, result: string): State {
  const read = readResult(result);
  if (read === null) return state;
  return { ...state, texts: new Map(state.texts).set(read.path, read.text) };
}

function afterGlob(state: State, result: string): State {
  if (/^\w+Error: /.test(result)) return state;
  const found =
    result === "No files matched." ? [] : result.split("\n").filter((line) => !line.startsWith("... "));
  return { ...state, files: [...new Set([...(state.files ?? []), ...found])] };
}

function afterEdit(state: State, args: Readonly<Record<string, unknown>>, result: string): State {
  const { file_path: path, old_string: before, new_string: after } = args;
  if (!result.startsWith("Edited ") || typeof path !== "string") return state;
  if (typeof before !== "string" || typeof after !== "string" || before === "") return state;
  const text = state.texts.get(path);
  const to = text?.replaceAll(before, () => after);
  if (text === undefined || to === undefined || to === text) return state;
  const texts = new Map(state.texts).set(path, to);
  const last = state.applied.at(-1);
  if (last?.path === path && last.previous === to)
    return { ...state, texts, applied: state.applied.slice(0, -1), check: "unknown" };
  const { key, line } = changeKey(path, to, difference(text, to).start);
  return {
    ...state,
    texts,
    applied: [...state.applied, { path, previous: text, key }],
    tried: new Map(state.tried).set(key, { path, line, effect: "unknown" }),
    check: "unknown",
  };
}

function matching(lines: readonly string[], expected: readonly string[]): number {
  return expected.filter((line, index) => line === lines[index]).length;
}

/** Compares what the reproduction printed with the statement's two outputs. */
function effectOf(issue: Issue, result: string): Effect {
  const match = /^Exit code: (-?\d+)\nSTDOUT:\n([\s\S]*)\nSTDERR:\n/.exec(result);
  if (match === null) return "error";
  const printed = match[2]!.replace(/\n+$/, "").split("\n");
  if (printed.join("\n") === issue.expected.join("\n")) return "passed";
  if (printed.join("\n") === issue.actual.join("\n")) return "same";
  if (matching(printed, issue.expected) > matching(issue.actual, issue.expected)) return "partial";
  return match[1] === "0" ? "changed" : "error";
}

function afterBash(state: State, args: Readonly<Record<string, unknown>>, result: string): State {
  if (state.issue.command === null || args.command !== state.issue.command) return state;
  const check = effectOf(state.issue, result);
  const last = state.applied.at(-1);
  const known = last && state.tried.get(last.key);
  const tried = known ? new Map(state.tried).set(last.key, { ...known, effect: check }) : state.tried;
  return { ...state, check, tried, checks: state.checks + 1 };
}

export function afterResult(state: State, call: Call, result: string): State {
  const args = argumentsOf(call);
  switch (call.name) {
    case "Glob":
      return afterGlob(state, result);
    case "Read":
      return afterRead(state, result);
    case "Edit":
      return afterEdit(state, args, result);
    case "Bash":
      return afterBash(state, args, result);
    default:
      return state;
  }
}

/** The first user message is the statement. */
export function afterUser(state: State, text: string): State {
  return state.issue === NO_STATE.issue ? { ...state, issue: readIssue(text) } : state;
}
