/**
 * The Leaf loop: ask the policy, run its calls in order, append the turn to the ledger, until it calls no tool or a limit is met.
 *
 * The prompt is an append-only list of tokens: the next one is the last one, what was sampled, and the rendering of only the new
 * messages, so what is trained on is what was sampled. Where the server says that it saw another prompt, a new segment starts.
 */
import type { ExitReason, Message, ToolCall } from "../../core/trajectory.ts";
import { type Completion, PolicyError } from "../policy/client.ts";
import { tookAllMemory } from "../sandbox/runtime.ts";
import { runCalls, toolContext } from "./calls.ts";
import { exitBeforeTurn, lengthExit } from "./limits.ts";
import { firstMessages } from "./prompt.ts";
import { segmentsOf, startsWith } from "./segments.ts";
import { countTurn, sumTokens } from "./tokens.ts";
import { TOOL_DEFINITIONS } from "./tools/index.ts";
import { watchTree } from "./tree.ts";
import type { LedgerTurn, RolloutOutcome, RolloutRequest } from "./types.ts";
import { tokensOf } from "./versions.ts";

class Stopwatch {
  seconds: number;
  constructor(seconds: number) {
    this.seconds = seconds;
  }
  async time<T>(action: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await action();
    } finally {
      this.seconds += (performance.now() - start) / 1000;
    }
  }
}

/**
 * Runs one rollout. A lost sandbox (SandboxError) and a failing policy server (PolicyError other than `context`) are thrown as they
 * are: such a rollout is no sample. Cancelling is a normal end, exit `cancelled`, and so is `tool_error`: its own commands took the
 * sandbox's memory until the kernel killed it whole.
 */
export async function runRollout(request: RolloutRequest): Promise<RolloutOutcome> {
  const { limits, sandbox, template, signal } = request;
  const messages: Message[] = firstMessages(request.statement);
  const rows: LedgerTurn[] = [];
  const resumed = request.resumed ?? [];
  const modelTime = new Stopwatch(resumed.at(-1)?.reply.modelSeconds ?? 0);
  const toolTime = new Stopwatch(resumed.at(-1)?.reply.toolSeconds ?? 0);
  const tree = watchTree(sandbox);
  const context = toolContext(request, tree);
  let treeHash = await toolTime.time(tree.hash);
  const treeGiven = resumed[0]?.reply.treeBefore ?? treeHash;
  /** Everything up to and including the last sampled token. */
  let history: readonly number[] = [];
  let prompt: readonly number[] = template.start(messages, TOOL_DEFINITIONS);

  const ask = async (turn: number): Promise<Completion> => {
    const reply = await modelTime.time(() =>
      request.client.complete({
        policy: request.policy,
        prompt,
        maxTokens: Math.min(limits.maxTokensPerTurn, limits.maxContextTokens - prompt.length),
        sampling: request.sampling,
        seed: request.turnSeed(turn),
        ...(request.affinity === undefined ? {} : { affinity: request.affinity }),
        ...(signal ? { signal } : {}),
      }),
    );
    // What others kept it waiting for is none of the policy's time, and no reason to cut it off.
    modelTime.seconds = Math.max(0, modelTime.seconds - (reply.usage.queueSeconds ?? 0));
    return reply;
  };

  const times = () => ({ modelSeconds: modelTime.seconds, toolSeconds: toolTime.seconds });

  const rowOf = async (
    reply: Completion,
    calls: readonly ToolCall[],
    answered: boolean,
  ): Promise<LedgerTurn> => {
    const seen = reply.promptTokens ?? prompt;
    const extended = rows.length > 0 && startsWith(seen, history);
    return {
      record: {
        turn: rows.length,
        promptTokens: seen.length,
        completionTokens: reply.tokens.length,
        toolCalls: calls,
        results: [],
        treeHash: null,
      },
      promptTokens: extended ? seen.slice(history.length) : seen,
      sampledTokens: reply.tokens,
      logProbs: reply.logProbs,
      weightVersion: reply.weightVersion,
      newSegment: !extended,
      reply: {
        text: reply.text,
        finish: reply.finish,
        treeBefore: treeHash,
        namesBefore: await tree.names(),
        tokens: countTurn(reply, template.spans(reply.text), extended ? history.length : 0),
        ...(reply.versions === undefined ? {} : { versions: reply.versions }),
        ...times(),
      },
      answered,
    };
  };

  /** The row as the policy answered it, committed or about to be; null = go on. */
  const takeRow = async (row: LedgerTurn, commit: boolean): Promise<ExitReason | null> => {
    const { content, toolCalls } = template.parse(
      row.reply.text,
      `call-${row.record.turn}`,
      TOOL_DEFINITIONS,
    );
    messages.push({ role: "assistant", content, ...(toolCalls.length > 0 ? { toolCalls } : {}) });
    if (commit) await request.ledger.append(row);
    history = [...(row.newSegment ? [] : history), ...row.promptTokens, ...row.sampledTokens];
    rows.push(row);
    if (row.reply.finish === "length")
      return lengthExit({ promptTokens: prompt.length, completionTokens: row.sampledTokens.length }, limits);
    if (toolCalls.length === 0) return "agent";
    let { results } = row.record;
    if (!row.answered) {
      results = await toolTime.time(() => runCalls(context, toolCalls, tree));
      if (signal?.aborted) return "cancelled";
      const changed = await toolTime.time(tree.hash);
      const record = { ...row.record, results, treeHash: changed === treeHash ? null : changed };
      treeHash = changed;
      const whole = { ...row, record, answered: true, reply: { ...row.reply, ...times() } };
      await request.ledger.complete(whole);
      rows[rows.length - 1] = whole;
    }
    const answers = toolCalls.map(
      (call, i): Message => ({ role: "tool", toolCallId: call.id, content: results[i]! }),
    );
    messages.push(...answers);
    prompt = [...history, ...template.extend(answers, row.sampledTokens)];
    return null;
  };

  const takeTurn = async (): Promise<ExitReason | null> => {
    request.onTurn?.(rows.length);
    const reply = await ask(rows.length);
    const { toolCalls } = template.parse(reply.text, `call-${rows.length}`, TOOL_DEFINITIONS);
    const answered = reply.finish === "length" || toolCalls.length === 0;
    return takeRow(await rowOf(reply, toolCalls, answered), true);
  };

  const run = async (): Promise<ExitReason> => {
    for (const row of resumed) {
      const exit = await takeRow(row, false).catch((error) => {
        if (signal?.aborted) return "cancelled" as const;
        throw error;
      });
      if (exit) return exit;
    }
    for (;;) {
      if (signal?.aborted) return "cancelled";
      const seconds = modelTime.seconds + toolTime.seconds;
      const early = exitBeforeTurn(rows.length, prompt.length, seconds, limits);
      if (early) return early;
      try {
        const exit = await takeTurn();
        if (exit) return exit;
      } catch (error) {
        if (signal?.aborted) return "cancelled";
        if (error instanceof PolicyError && error.kind === "context") return "max_context_len";
        throw error;
      }
    }
  };

  const exit = await run().catch((error): ExitReason => {
    if (tookAllMemory(error)) return "tool_error";
    throw error;
  });
  return {
    trajectory: {
      segments: segmentsOf(rows),
      turns: rows.map((row) => row.record),
      messages,
      weightVersion: rows[0]?.weightVersion ?? request.policy,
      exit,
      generatedTokens: rows.reduce((sum, row) => sum + row.sampledTokens.length, 0),
    },
    treeGiven,
    versions: tokensOf(rows),
    tokens: sumTokens(rows.map((row) => row.reply.tokens)),
    ...times(),
  };
}
