/** The author's loop: ask, run its calls with Leaf's tools in its sandbox, until it delivers something sound or a bound is met. */
import { runTool, TOOL_DEFINITIONS } from "../harness/index.ts";
import { type Sandbox, tookAllMemory } from "../sandbox/runtime.ts";
import type { AuthorBrief, Candidate } from "../synthesis/types.ts";
import { type ChatMessage, type ChatTool, createChat } from "./chat.ts";
import { DELIVER, DELIVER_TOOL, type Delivery, readDelivery } from "./delivery.ts";
import { askPaid } from "./paid.ts";
import type { AuthorCall, AuthorReply } from "./reply.ts";
import type { Attempt } from "./types.ts";

export const AUTHOR_TOOLS: readonly ChatTool[] = [
  ...TOOL_DEFINITIONS.map(
    ({ function: { name, description, parameters } }): ChatTool => ({
      type: "function",
      function: { name, description, parameters: { ...parameters } },
    }),
  ),
  DELIVER_TOOL,
];

/** Deliveries that are sent back in one conversation. */
const MAX_REFUSED = 5;
/** Answers without a call that are answered by a reminder. */
const MAX_REMINDERS = 2;
/** Answers one after the other none of whose calls could be read. */
const MAX_UNREADABLE = 5;

const REMINDER = `The task is not delivered yet. Go on, and hand it in with the tool ${DELIVER}.`;
const DELIVERED = "Delivered. It is checked now.";
const NOT_RUN = "Not run: the task was delivered.";

export interface Conversation {
  readonly brief: AuthorBrief;
  readonly sandbox: Sandbox;
  /** What was said so far. */
  readonly messages: readonly ChatMessage[];
  /** A candidate of a delivery and the tree as it is then, or what is wrong with it. */
  readonly accept: (
    delivery: Delivery,
  ) => Promise<{ readonly candidate: Candidate } | { readonly problems: readonly string[] }>;
  readonly cpuSeconds?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Throws AuthorError, SandboxError, and what the books throw. A conversation that leads to nothing is no error. */
export async function converse(conversation: Conversation): Promise<Attempt> {
  try {
    return await new Talk(conversation).run();
  } catch (error) {
    if (tookAllMemory(error)) return { none: "author: its commands took all the memory of its sandbox" };
    throw error;
  }
}

class Talk {
  private readonly given: Conversation;
  private readonly messages: ChatMessage[];
  private refused = 0;
  private reminders = 0;
  private unreadable = 0;
  private lastProblem = "";

  constructor(given: Conversation) {
    this.given = given;
    this.messages = [...given.messages];
  }

  async run(): Promise<Attempt> {
    const { brief, signal } = this.given;
    const ask = createChat(brief.settings, AUTHOR_TOOLS);
    for (let turn = 0; turn < brief.settings.maxTurns; turn++) {
      signal?.throwIfAborted();
      const reply = await askPaid(ask, brief, turn, this.messages, AUTHOR_TOOLS, signal);
      this.messages.push(messageOf(reply));
      const end = reply.calls.length === 0 ? this.remind() : await this.answer(reply.calls);
      if (end !== null) return end;
    }
    return { none: `author: no delivery in ${brief.settings.maxTurns} turns (synthesis.author.maxTurns)` };
  }

  private remind(): Attempt | null {
    if (this.reminders++ >= MAX_REMINDERS) return { none: `author: it stopped without calling ${DELIVER}` };
    this.messages.push({ role: "user", content: REMINDER });
    return null;
  }

  private async answer(calls: readonly AuthorCall[]): Promise<Attempt | null> {
    let accepted: Candidate | null = null;
    let readable = false;
    for (const call of calls) {
      let content = NOT_RUN;
      if (accepted === null) {
        const args = argumentsOf(call);
        readable ||= "value" in args;
        if ("problem" in args) content = args.problem;
        else if (call.name === DELIVER) {
          const outcome = await this.deliver(args.value);
          accepted = outcome.candidate;
          content = outcome.content;
        } else content = await this.runLeafTool(call.name, args.value);
      }
      this.messages.push({ role: "tool", tool_call_id: call.id, content });
    }
    if (accepted !== null) return { ...accepted, conversation: this.messages };
    this.unreadable = readable ? 0 : this.unreadable + 1;
    if (this.unreadable >= MAX_UNREADABLE)
      return { none: `author: the arguments of its calls were no JSON ${this.unreadable} times on end` };
    if (this.refused >= MAX_REFUSED)
      return { none: `author: delivered ${this.refused} times what cannot be a task: ${this.lastProblem}` };
    return null;
  }

  private runLeafTool(name: string, args: Readonly<Record<string, unknown>>): Promise<string> {
    const { sandbox, signal, cpuSeconds } = this.given;
    return runTool(sandbox, name, args, {
      ...(signal && { signal }),
      ...(cpuSeconds !== undefined && { commandCpuSeconds: cpuSeconds }),
    });
  }

  private async deliver(
    value: object,
  ): Promise<{ readonly candidate: Candidate | null; readonly content: string }> {
    const read = readDelivery(value);
    const outcome = "problems" in read ? read : await this.given.accept(read.delivery);
    if ("candidate" in outcome) return { candidate: outcome.candidate, content: DELIVERED };
    this.refused++;
    this.lastProblem = outcome.problems[0]!;
    return { candidate: null, content: `Not delivered:\n- ${outcome.problems.join("\n- ")}` };
  }
}

export function messageOf({ text, calls }: AuthorReply): ChatMessage {
  return {
    role: "assistant",
    content: text,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, arguments: written }) => ({
        id,
        type: "function",
        function: { name, arguments: written },
      })),
    }),
  };
}

export function argumentsOf(
  call: AuthorCall,
): { readonly value: Readonly<Record<string, unknown>> } | { readonly problem: string } {
  try {
    const value: unknown = JSON.parse(call.arguments === "" ? "{}" : call.arguments);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { value: value as Readonly<Record<string, unknown>> };
    return { problem: `The arguments of ${call.name} are no JSON object.` };
  } catch (error) {
    return { problem: `The arguments of ${call.name} are no JSON: ${(error as Error).message}` };
  }
}
