/**
 * The grammar of the embedded policy's turn: which tokens may follow, and which calls they stand for. A turn holds one action, or
 * an edit and the check of it, or an undone edit and a next one: as long as a call needs no result of the call before.
 */
import { applyEdit } from "../../javascript/index.ts";
import { bashCall, type Call, editCall, globCalls, readCall } from "./calls.ts";
import { editCandidates, spotsOf } from "./edit-candidates.ts";
import type { Candidates } from "./hashing.ts";
import { pack } from "./hashing.ts";
import { viewSource } from "./source.ts";
import { afterResult, type State } from "./state.ts";
import { END_OF_TURN, FIRST_ACTION } from "./tokens.ts";
import { fileFeatures, isSource, TOOLS, type ToolName, thenFeatures, toolFeatures } from "./tool-features.ts";

const FIRST_FILE = 1024;
export const FIRST_EDIT = 4096;
const MAX_FILES = FIRST_EDIT - FIRST_FILE;

export function toolToken(tool: ToolName): number {
  return FIRST_ACTION + TOOLS.indexOf(tool);
}

export interface Turn {
  /** What would be known if every call so far did what it is meant to do. */
  readonly state: State;
  /** Complete calls, in order. */
  readonly calls: readonly Call[];
  /** Tool whose file or edit is still to come. */
  readonly open: ToolName | null;
  /** Last complete action. */
  readonly last: ToolName | null;
}

export function openTurn(state: State): Turn {
  return { state, calls: [], open: null, last: null };
}

export function unreadFiles(state: State): string[] {
  const known = [...(state.files ?? []), ...state.issue.places.map((place) => place.file)];
  return [...new Set(known)].filter((path) => !state.texts.has(path)).slice(0, MAX_FILES);
}

export function fileToken(state: State, path: string): number | null {
  const index = unreadFiles(state).indexOf(path);
  return index < 0 ? null : FIRST_FILE + index;
}

/** Tools that make sense now, in the order of TOOLS. `finish` always does. */
export function toolsOf(state: State): ToolName[] {
  const possible: Readonly<Record<ToolName, boolean>> = {
    glob: state.files === null,
    read: unreadFiles(state).length > 0,
    edit: [...state.texts.values()].some((text) => viewSource(text).lines.length > 0),
    undo: state.applied.length > 0,
    check: state.issue.command !== null,
    finish: true,
  };
  return TOOLS.filter((tool) => possible[tool]);
}

/** Tools that may follow in the same turn. */
function following({ state, last }: Turn): ToolName[] {
  const next: readonly ToolName[] = last === "edit" ? ["check"] : last === "undo" ? ["edit"] : [];
  return next.length === 0 ? [] : toolsOf(state).filter((tool) => next.includes(tool));
}

function toolCandidates(state: State): Candidates {
  const tools = toolsOf(state);
  const prospects = {
    canEdit: tools.includes("edit"),
    unreadSources: unreadFiles(state).filter(isSource).length,
  };
  return pack(tools.map(toolToken), (index) => [toolFeatures(tools[index]!, state, prospects)]);
}

function fileCandidates(state: State): Candidates {
  const files = unreadFiles(state);
  return pack(
    files.map((_, index) => FIRST_FILE + index),
    (index) => [fileFeatures(files[index]!, state)],
  );
}

function thenCandidates(turn: Turn): Candidates {
  const tools = following(turn);
  return pack([END_OF_TURN, ...tools.map(toolToken)], (index) => [
    index === 0 ? null : thenFeatures(tools[index - 1]!, turn.last!, turn.state),
  ]);
}

/** Candidates for the turn's next token: at least one. */
export function turnCandidates(turn: Turn): Candidates {
  if (turn.open === "read") return fileCandidates(turn.state);
  if (turn.open === "edit") return editCandidates(turn.state, FIRST_EDIT);
  return turn.last === null ? toolCandidates(turn.state) : thenCandidates(turn);
}

function complete(turn: Turn, tool: ToolName, calls: readonly Call[]): Turn {
  const hoped = (state: State, call: Call) =>
    call.name === "Edit" ? afterResult(state, call, "Edited ") : state;
  return {
    state: calls.reduce(hoped, turn.state),
    calls: [...turn.calls, ...calls],
    open: null,
    last: tool,
  };
}

export function undoCall(state: State): Call | null {
  const last = state.applied.at(-1);
  const text = last && state.texts.get(last.path);
  return last === undefined || text === undefined ? null : editCall(last.path, text, last.previous);
}

function begin(turn: Turn, tool: ToolName): Turn {
  switch (tool) {
    case "glob":
      return complete(turn, tool, globCalls());
    case "undo": {
      const call = undoCall(turn.state);
      return call === null ? turn : complete(turn, tool, [call]);
    }
    case "check":
      return complete(turn, tool, [bashCall(turn.state.issue.command!)]);
    case "finish":
      return complete(turn, tool, []);
    default:
      return { ...turn, open: tool };
  }
}

/** The turn with one more token; as it was when the token has no meaning there. */
export function extendTurn(turn: Turn, token: number): Turn {
  if (turn.open === "read") {
    const path = unreadFiles(turn.state)[token - FIRST_FILE];
    return path === undefined ? turn : complete(turn, "read", [readCall(path)]);
  }
  if (turn.open === "edit") {
    const spot = spotsOf(turn.state)[token - FIRST_EDIT];
    if (spot === undefined) return turn;
    const { path, view, item } = spot;
    return complete(turn, "edit", [editCall(path, view.text, applyEdit(view.text, item.edit))]);
  }
  const tool = TOOLS[token - FIRST_ACTION];
  const allowed = turn.last === null ? toolsOf(turn.state) : following(turn);
  return tool !== undefined && allowed.includes(tool) ? begin(turn, tool) : turn;
}
