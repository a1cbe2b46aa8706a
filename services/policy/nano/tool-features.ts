/** Features of the tokens that are no edit: which tool, which file to read, and whether another call follows in the same turn. */
import { Features } from "./hashing.ts";
import { type Issue, wordsOf } from "./issue.ts";
import type { State } from "./state.ts";

export const TOOLS = ["glob", "read", "edit", "undo", "check", "finish"] as const;
export type ToolName = (typeof TOOLS)[number];

const NO_SOURCE = /(?:^|[/_.-])(?:tests?|spec|bench(?:mark)?|examples?|demo|perf)(?:[/_.-]|$)/i;

export function isSource(path: string): boolean {
  return !NO_SOURCE.test(path);
}

export interface Prospects {
  /** True when a file was read that has edits. */
  readonly canEdit: boolean;
  /** Files known but not read, other than tests, examples and benchmarks. */
  readonly unreadSources: number;
}

/** How far the work is: what a choice of tool depends on. */
function situation(state: State, { canEdit, unreadSources }: Prospects) {
  const outstanding = Math.min(2, state.applied.length);
  return {
    view: `${state.files === null ? "new" : "listed"}|${canEdit ? "editable" : state.texts.size > 0 ? "read" : "none"}`,
    outstanding,
    check: state.check,
    tries: Math.min(3, state.tried.size),
    reproduction: state.issue.command === null ? "none" : "some",
    unread: Math.min(2, unreadSources),
    late: Math.min(3, Math.floor(state.turns / 6)),
  };
}

export function toolFeatures(tool: ToolName, state: State, prospects: Prospects): Features {
  const features = new Features();
  const { view, outstanding, check, tries, reproduction, unread, late } = situation(state, prospects);
  if (!prospects.canEdit) {
    features.add(`tool:${tool}|${view}|${reproduction}`);
    return features;
  }
  // No feature spans different results of the check: whether to go on after a success and after a failure are two questions.
  const stage = `out${outstanding}|${check}|${reproduction}`;
  features.add(`tool:${tool}|${stage}`);
  features.add(`tool:${tool}|${stage}|tries${tries}`);
  features.add(`tool:${tool}|${stage}|late${late}`);
  if (outstanding === 0) features.add(`tool:${tool}|unread${unread}`);
  return features;
}

/** Of another call in the same turn; ending the turn has no feature, and so the score 0. */
export function thenFeatures(tool: ToolName, last: ToolName, state: State): Features {
  const features = new Features();
  features.add(`then:${last}>${tool}`);
  features.add(`then:${last}>${tool}|tries${Math.min(3, state.tried.size)}`);
  return features;
}

/** `./lib/x` of a statement's code, as the paths it may stand for. */
function requiredPaths(issue: Issue): Set<string> {
  return new Set(
    issue.required.flatMap((name) => {
      const path = name.replace(/^\.\/+/, "").replace(/\/$/, "");
      return path === "" || path === "." ? ["index.js"] : [path, `${path}.js`, `${path}/index.js`];
    }),
  );
}

export function fileFeatures(path: string, state: State): Features {
  const features = new Features();
  const { issue } = state;
  if (issue.places.some((place) => place.file === path)) features.add("file:named");
  if (requiredPaths(issue).has(path)) features.add("file:required");
  const stem = path.slice(path.lastIndexOf("/") + 1).replace(/\.\w+$/, "");
  const mentioned = [...state.texts.values()].some(
    (text) => text.includes(`/${stem}'`) || text.includes(`/${stem}"`),
  );
  if (mentioned) features.add("file:required-by-read");
  const shared = wordsOf(path.replace(/\.\w+$/, "")).some((word) => issue.words.has(word));
  if (shared) features.add("file:shared-word");
  if (!isSource(path)) features.add("file:no-source");
  if (stem === "index") features.add("file:index");
  if (/^(?:lib|src)\//.test(path)) features.add("file:lib");
  features.add(`file:depth${Math.min(3, path.split("/").length - 1)}`);
  return features;
}
