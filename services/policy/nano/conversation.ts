/**
 * The embedded policy's view of a conversation: tokens in, candidates for the next token out. Everything is derived from the
 * token ids, so that the trainer sees the candidates that the sampler saw.
 */
import { applyEdit } from "../../javascript/index.ts";
import { parseToolCalls, renderToolCall } from "../tool-calls.ts";
import { argumentsOf, bashCall, type Call, readCall } from "./calls.ts";
import { type Spot, spotsOf } from "./edit-candidates.ts";
import type { Candidates } from "./hashing.ts";
import { afterResult, afterUser, NO_STATE, type State } from "./state.ts";
import { ASSISTANT, END_OF_TURN, SYSTEM, TOOL, USER } from "./tokens.ts";
import {
  extendTurn,
  FIRST_EDIT,
  fileToken,
  openTurn,
  type Turn,
  toolsOf,
  toolToken,
  turnCandidates,
  undoCall,
} from "./turn.ts";

export { type Candidates, FEATURE_VERSION, SLOTS } from "./hashing.ts";

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

const ANSWERS = {
  none: "I found nothing that I could safely change.",
  changed: "I changed the source where I believe the mistake is.",
  checked: "I corrected the source; the command now prints what it should.",
};

function answerOf(state: State): string {
  if (state.applied.length === 0) return ANSWERS.none;
  return state.check === "passed" ? ANSWERS.checked : ANSWERS.changed;
}

function leadsTo({ view, item }: Spot, to: string): boolean {
  const { start, end, replacement } = item.edit;
  return (
    view.text.length - (end - start) + replacement.length === to.length &&
    to.startsWith(replacement, start) &&
    applyEdit(view.text, item.edit) === to
  );
}

class NanoConversation implements Conversation {
  #state: State = NO_STATE;
  /** Marker of the message that is being read; 0 between messages. */
  #role = 0;
  #bytes: number[] = [];
  #turn: Turn = openTurn(NO_STATE);
  /** Calls whose results have not come yet. */
  #pending: readonly Call[] = [];
  #rendered = "";

  append(token: number): void {
    if (token === SYSTEM || token === USER || token === ASSISTANT || token === TOOL) this.#open(token);
    else if (token === END_OF_TURN) this.#close();
    else if (token >= 0 && token < 256) this.#bytes.push(token);
    else if (this.#role === ASSISTANT) this.#turn = extendTurn(this.#turn, token);
  }

  #open(role: number): void {
    this.#role = role;
    this.#bytes = [];
    if (role === ASSISTANT) this.#turn = openTurn(this.#state);
  }

  #close(): void {
    const text = Buffer.from(this.#bytes).toString("utf8");
    switch (this.#role) {
      case USER:
        this.#state = afterUser(this.#state, text);
        break;
      case ASSISTANT:
        this.#rendered = this.render();
        this.#pending = this.#turn.last === null ? parseToolCalls(text, "").toolCalls : this.#turn.calls;
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
    return this.#role === ASSISTANT ? turnCandidates(this.#turn) : null;
  }

  render(): string {
    if (this.#role !== ASSISTANT) return this.#rendered;
    const { calls, last } = this.#turn;
    if (calls.length > 0) return calls.map(renderToolCall).join("\n");
    return last === "finish" ? answerOf(this.#state) : Buffer.from(this.#bytes).toString("utf8");
  }

  clone(): Conversation {
    const copy = new NanoConversation();
    copy.#state = this.#state;
    copy.#role = this.#role;
    copy.#bytes = [...this.#bytes];
    copy.#turn = this.#turn;
    copy.#pending = this.#pending;
    copy.#rendered = this.#rendered;
    return copy;
  }

  match(call: Call): number[] | null {
    const state = this.#state;
    const same = (other: Call) => other.name === call.name && other.arguments === call.arguments;
    const { command } = state.issue;
    if (command !== null && same(bashCall(command))) return [toolToken("check")];
    const undo = undoCall(state);
    if (undo !== null && same(undo)) return [toolToken("undo")];
    const { file_path: path, old_string: before, new_string: after } = argumentsOf(call);
    if (typeof path !== "string") return null;
    const file = fileToken(state, path);
    if (same(readCall(path))) return file === null ? null : [toolToken("read"), file];
    const text = state.texts.get(path);
    if (call.name !== "Edit" || text === undefined || !toolsOf(state).includes("edit")) return null;
    if (typeof before !== "string" || typeof after !== "string" || before === "") return null;
    const to = text.replace(before, () => after);
    const index = spotsOf(state).findIndex((spot) => spot.path === path && leadsTo(spot, to));
    return index < 0 ? null : [toolToken("edit"), FIRST_EDIT + index];
  }
}

/** An empty conversation; feed it a prompt's ids. */
export function openConversation(): Conversation {
  return new NanoConversation();
}
