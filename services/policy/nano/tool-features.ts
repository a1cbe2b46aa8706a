/** Features of the first token of an action: which tool; and of the second of a Read: which file. */
import { Features } from "./hashing.ts";
import { type Issue, wordsOf } from "./issue.ts";
import type { State } from "./state.ts";

export const TOOLS = ["glob", "read", "edit", "undo", "check", "finish"] as const;
export type ToolName = (typeof TOOLS)[number];

function upTo(limit: number, count: number): number {
  return Math.min(limit, count);
}

export function toolFeatures(tool: ToolName, state: State, canEdit: boolean): Features {
  const features = new Features();
  const listed = state.files === null ? "new" : "listed";
  const current = canEdit ? "editable" : state.texts.size > 0 ? "read" : "none";
  const outstanding = upTo(2, state.applied.length);
  const attempts = upTo(3, state.tried.size);
  const reproduction = state.issue.command === null ? "none" : "some";
  const check = state.checks === 0 && state.check === "unknown" ? "never" : state.check;
  features.add(`tool:${tool}`);
  features.add(`tool:${tool}|${listed}|${current}`);
  features.add(`tool:${tool}|${current}|out${outstanding}|${check}|${reproduction}`);
  features.add(`tool:${tool}|out${outstanding}|${check}|tries${attempts}|${reproduction}`);
  if (outstanding > 0) features.add(`tool:${tool}|out|late${upTo(3, Math.floor(state.turns / 6))}`);
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
  if (state.texts.size > 0) {
    const mentioned = [...state.texts.values()].some(
      (text) => text.includes(`/${stem}'`) || text.includes(`/${stem}"`),
    );
    if (mentioned) features.add("file:required-by-read");
  }
  const shared = wordsOf(path.replace(/\.\w+$/, "")).filter((word) => issue.words.has(word));
  if (shared.length > 0) features.add("file:shared-word");
  if (/(?:^|[/_.-])(?:tests?|spec|bench(?:mark)?|examples?|demo|perf)(?:[/_.-]|$)/i.test(path))
    features.add("file:no-source");
  if (stem === "index") features.add("file:index");
  if (/^(?:lib|src)\//.test(path)) features.add("file:lib");
  features.add(`file:depth${upTo(3, path.split("/").length - 1)}`);
  return features;
}
