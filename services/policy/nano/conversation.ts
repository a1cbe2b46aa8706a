/**
 * The embedded policy's view of a conversation: tokens in, candidates for the next token out. Everything is derived from the
 * token ids, so that the trainer sees the candidates the sampler saw. An action is one token for the tool, then, where the
 * tool needs them, one for the file, or one for the line and one for the edit; then the end of the turn.
 */
import { applyEdit } from "../../javascript/index.ts";
import { parseToolCalls, renderToolCall } from "../tool-calls.ts";
import { argumentsOf, bashCall, type Call, difference, editCall, globCalls, readCall } from "./calls.ts";
import { editFeatures } from "./edit-features.ts";
import { Features, pack } from "./hashing.ts";
import { lessonFeatures, lessonsOf, lineFeatures } from "./line-features.ts";
import { type EditView, type SourceLine, type SourceView, viewSource } from "./source.ts";
import { afterResult, afterUser, changeKey, NO_STATE, type State } from "./state.ts";
import { ASSISTANT, END_OF_TURN, FIRST_ACTION, SYSTEM, TOOL, USER } from "./tokens.ts";
import { fileFeatures, TOOLS, type ToolName, toolFeatures } from "./tool-features.ts";

export { FEATURE_VERSION, SLOTS } from "./hashing.ts";

/** Candidates in compressed rows: candidate i has the features and values at offsets[i] .. offsets[i + 1]. */
export interface Candidates {
  readonly tokens: Int32Array;
  readonly offsets: Int32Array;
  readonly features: Int32Array;
  readonly values: Float64Array;
}

export interface Conversation {
  /** Any id at all; what has no meaning where it stands is passed over. */
  append(token: number): void;
  /** Null where the policy has nothing to say: outside of an assistant's turn. At least one candidate otherwise. */
  next(): Candidates | null;
  /** Later changes of one do not show in the other. */
  clone(): Conversation;
  /** Text of the assistant's turn so far, or of the last one. */
  render(): string;
  /** Tokens, without the end of the turn, with which the policy itself would make this call; null when it could not. */
  match(call: Call): number[] | null;
}

const FIRST_FILE = 1024;
const FIRST_LINE = 4096;
const FIRST_EDIT = 65536;
const MAX_FILES = FIRST_LINE - FIRST_FILE;
const MAX_LINES = FIRST_EDIT - FIRST_LINE;

const ANSWERS = {
  none: "I found nothing that I could safely change.",
  changed: "I changed the source where I believe the mistake is.",
  checked: "I corrected the source; the reproduction now prints what it should.",
};

interface Spot {
  readonly path: string;
  readonly view: SourceView;
  readonly line: SourceLine;
}

/** Lines of all files read, in the order in which they were read. */
function spotsOf(state: State): Spot[] {
  const spots: Spot[] = [];
  for (const [path, text] of state.texts) {
    const view = viewSource(text);
    for (const line of view.lines) spots.push({ path, view, line });
  }
  return spots.slice(0, MAX_LINES);
}

function unreadFiles(state: State): string[] {
  const known = [...(state.files ?? []), ...state.issue.places.map((place) => place.file)];
  return [...new Set(known)].filter((path) => !state.texts.has(path)).slice(0, MAX_FILES);
}

function toolsOf(state: State): ToolName[] {
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

function toolCandidates(state: State): Candidates {
  const tools = toolsOf(state);
  const canEdit = tools.includes("edit");
  return pack(
    tools.map((tool) => FIRST_ACTION + TOOLS.indexOf(tool)),
    (index) => [toolFeatures(tools[index]!, state, canEdit)],
  );
}

function fileCandidates(state: State): Candidates {
  const files = unreadFiles(state);
  return pack(
    files.map((_, index) => FIRST_FILE + index),
    (index) => [fileFeatures(files[index]!, state)],
  );
}

function lineCandidates(state: State): Candidates {
  const parts: (readonly (Features | null)[])[] = [];
  for (const [path, text] of state.texts) {
    const view = viewSource(text);
    const fixed = lineFeatures(state.issue, path, view);
    const lessons = lessonsOf(state, path, view);
    view.lines.forEach((line, index) => {
      if (parts.length < MAX_LINES) parts.push([fixed[index]!, lessonFeatures(lessons, line)]);
    });
  }
  return pack(
    parts.map((_, index) => FIRST_LINE + index),
    (index) => parts[index]!,
  );
}

function keyOf(spot: Spot, item: EditView): string {
  const to = applyEdit(spot.view.text, item.edit);
  return changeKey(spot.path, to, difference(spot.view.text, to).start).key;
}

function triedFeatures(state: State, spot: Spot, item: EditView): Features | null {
  const tried = state.tried.size > 0 ? state.tried.get(keyOf(spot, item)) : undefined;
  if (tried === undefined) return null;
  const features = new Features();
  features.add("edit:tried");
  features.add(`edit:tried:${tried.effect}`);
  return features;
}

function editCandidates(state: State, spot: Spot): Candidates {
  const { view, line } = spot;
  return pack(
    line.edits.map((_, index) => FIRST_EDIT + index),
    (index) => {
      const item = line.edits[index]!;
      return [editFeatures(state.issue, view, line, item), triedFeatures(state, spot, item)];
    },
  );
}

/** What the action tokens sampled so far stand for. `calls` null = not yet complete. */
interface Action {
  readonly tool: ToolName;
  readonly spot: Spot | null;
  readonly calls: readonly Call[] | null;
}

function begin(state: State, tool: ToolName): Action {
  switch (tool) {
    case "glob":
      return { tool, spot: null, calls: globCalls() };
    case "undo": {
      const last = state.applied.at(-1)!;
      return { tool, spot: null, calls: [editCall(last.path, state.texts.get(last.path)!, last.previous)] };
    }
    case "check":
      return { tool, spot: null, calls: [bashCall(state.issue.command!)] };
    case "finish":
      return { tool, spot: null, calls: [] };
    default:
      return { tool, spot: null, calls: null };
  }
}

function proceed(state: State, action: Action | null, token: number): Action | null {
  if (action === null) {
    const tool = TOOLS[token - FIRST_ACTION];
    return tool !== undefined && toolsOf(state).includes(tool) ? begin(state, tool) : null;
  }
  if (action.calls !== null) return action;
  if (action.tool === "read") {
    const path = unreadFiles(state)[token - FIRST_FILE];
    return path === undefined ? action : { ...action, calls: [readCall(path)] };
  }
  if (action.spot === null) return { ...action, spot: spotsOf(state)[token - FIRST_LINE] ?? null };
  const { path, view, line } = action.spot;
  const item = line.edits[token - FIRST_EDIT];
  if (item === undefined) return action;
  return { ...action, calls: [editCall(path, view.text, applyEdit(view.text, item.edit))] };
}

function answerOf(state: State): string {
  if (state.applied.length === 0) return ANSWERS.none;
  return state.check === "passed" ? ANSWERS.checked : ANSWERS.changed;
}

const END = pack([END_OF_TURN], () => []);

class NanoConversation implements Conversation {
  #state: State = NO_STATE;
  #role = 0;
  #bytes: number[] = [];
  #action: Action | null = null;
  /** Calls whose results have not come yet. */
  #pending: readonly Call[] = [];
  #rendered = "";

  append(token: number): void {
    if (token === SYSTEM || token === USER || token === ASSISTANT || token === TOOL) this.#open(token);
    else if (token === END_OF_TURN) this.#close();
    else if (token >= 0 && token < 256) this.#bytes.push(token);
    else if (this.#role === ASSISTANT) this.#action = proceed(this.#state, this.#action, token);
  }

  #open(role: number): void {
    this.#role = role;
    this.#bytes = [];
    if (role === ASSISTANT) this.#action = null;
  }

  #close(): void {
    const text = Buffer.from(this.#bytes).toString("utf8");
    switch (this.#role) {
      case USER:
        this.#state = afterUser(this.#state, text);
        break;
      case ASSISTANT:
        this.#rendered = this.render();
        this.#pending = this.#action?.calls ?? parseToolCalls(text, "").toolCalls;
        this.#state = { ...this.#state, turns: this.#state.turns + 1 };
        break;
      case TOOL: {
        const [call, ...rest] = this.#pending;
        if (call !== undefined) this.#state = afterResult(this.#state, call, text);
        this.#pending = rest;
        break;
      }
      default:
    }
    this.#role = 0;
    this.#bytes = [];
  }

  next(): Candidates | null {
    if (this.#role !== ASSISTANT) return null;
    if (this.#action === null) return toolCandidates(this.#state);
    const { tool, spot, calls } = this.#action;
    if (calls !== null) return END;
    if (tool === "read") return fileCandidates(this.#state);
    return spot === null ? lineCandidates(this.#state) : editCandidates(this.#state, spot);
  }

  render(): string {
    if (this.#role !== ASSISTANT) return this.#rendered;
    const calls = this.#action?.calls ?? [];
    if (calls.length > 0) return calls.map(renderToolCall).join("\n");
    if (this.#action?.tool === "finish") return answerOf(this.#state);
    return Buffer.from(this.#bytes).toString("utf8");
  }

  clone(): Conversation {
    const copy = new NanoConversation();
    copy.#state = this.#state;
    copy.#role = this.#role;
    copy.#bytes = [...this.#bytes];
    copy.#action = this.#action;
    copy.#pending = this.#pending;
    copy.#rendered = this.#rendered;
    return copy;
  }

  match(call: Call): number[] | null {
    const state = this.#state;
    const tools = toolsOf(state);
    const args = argumentsOf(call);
    const toolToken = (tool: ToolName) => FIRST_ACTION + TOOLS.indexOf(tool);
    const same = (other: Call) => other.name === call.name && other.arguments === call.arguments;
    for (const tool of ["undo", "check"] as const)
      if (tools.includes(tool) && begin(state, tool).calls!.some(same)) return [toolToken(tool)];
    if (call.name === "Read" && tools.includes("read")) {
      const index = unreadFiles(state).findIndex((path) => same(readCall(path)));
      return index < 0 ? null : [toolToken("read"), FIRST_FILE + index];
    }
    if (call.name !== "Edit" || !tools.includes("edit")) return null;
    const { file_path: path, old_string: before, new_string: after } = args;
    const text = typeof path === "string" ? state.texts.get(path) : undefined;
    if (text === undefined || typeof before !== "string" || typeof after !== "string" || before === "")
      return null;
    const to = text.replace(before, () => after);
    const spots = spotsOf(state);
    for (const [index, spot] of spots.entries()) {
      if (spot.path !== path) continue;
      const edit = spot.line.edits.findIndex((item) => applyEdit(text, item.edit) === to);
      if (edit >= 0) return [toolToken("edit"), FIRST_LINE + index, FIRST_EDIT + edit];
    }
    return null;
  }
}

/** An empty conversation; feed it a prompt's ids. */
export function openConversation(): Conversation {
  return new NanoConversation();
}
