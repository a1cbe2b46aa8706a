/**
 * The Leaf loop: ask the policy, run its calls in order, append the turn to the ledger, until it calls no tool or a limit is met.
 *
 * The prompt is an append-only list of tokens: the next one is the last one, what was sampled, and the rendering of only the new
 * messages, so what is trained on is what was sampled. Where the server says that it saw another prompt, a new segment starts.
 */
import type { ExitReason, Message, ToolCall, TurnRecord } from "../../core/trajectory.ts";
import { type Completion, PolicyError } from "../policy/client.ts";
import { exitBeforeTurn, lengthExit } from "./limits.ts";
import { firstMessages } from "./prompt.ts";
import { segmentsOf, startsWith } from "./segments.ts";
import { parseArguments, runTool, TOOL_DEFINITIONS } from "./tools/index.ts";
import type { ToolContext } from "./tools/tool.ts";
import { commandReuse, type TreeWatch, watchTree } from "./tree.ts";
import type { LedgerTurn, RolloutOutcome, RolloutRequest } from "./types.ts";

/** Tools that may change the working tree. Read and Glob cannot. */
const CHANGES_TREE: ReadonlySet<string> = new Set(["Write", "Edit", "Bash"]);

class Stopwatch {
  seconds = 0;
  async time<T>(action: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await action();
    } finally {
      this.seconds += (performance.now() - start) / 1000;
    }
  }
}

/** Results of a turn's calls, in order; fewer than calls when the rollout is cancelled between two of them. */
async function runCalls(
  context: ToolContext,
  calls: readonly ToolCall[],
  tree: TreeWatch,
): Promise<readonly string[]> {
  const results: string[] = [];
  for (const call of calls) {
    if (context.signal?.aborted) break;
    const result = await runTool(context, call.name, parseArguments(call.arguments));
    // A remembered command has looked at the tree itself.
    if (CHANGES_TREE.has(call.name) && !(call.name === "Bash" && context.reuse)) tree.touched();
    results.push(result);
  }
  return results;
}

/**
 * Runs one rollout. A lost sandbox (SandboxError) and a failing policy server (PolicyError other than `context`) are thrown as they
 * are: such a rollout is no sample. Cancelling is a normal end, exit `cancelled`.
 */
export async function runRollout(request: RolloutRequest): Promise<RolloutOutcome> {
  const { limits, sandbox, template, signal } = request;
  const messages: Message[] = firstMessages(request.statement);
  const rows: LedgerTurn[] = [];
  const modelTime = new Stopwatch();
  const toolTime = new Stopwatch();
  const tree = watchTree(sandbox);
  const context: ToolContext = {
    sandbox,
    ...(signal ? { signal } : {}),
    ...(request.commandCpuSeconds === undefined ? {} : { commandCpuSeconds: request.commandCpuSeconds }),
    ...(request.commandCache ? { reuse: commandReuse(sandbox, request.commandCache, tree) } : {}),
  };
  let treeHash = await toolTime.time(tree.hash);
  /** Everything up to and including the last sampled token. */
  let history: readonly number[] = [];
  let prompt: readonly number[] = template.start(messages, TOOL_DEFINITIONS);

  const ask = (turn: number): Promise<Completion> =>
    modelTime.time(() =>
      request.client.complete({
        policy: request.policy,
        prompt,
        maxTokens: Math.min(limits.maxTokensPerTurn, limits.maxContextTokens - prompt.length),
        sampling: request.sampling,
        seed: request.turnSeed(turn),
        ...(signal ? { signal } : {}),
      }),
    );

  const append = async (reply: Completion, calls: readonly ToolCall[], results: readonly string[]) => {
    const seen = reply.promptTokens ?? prompt;
    const extended = rows.length > 0 && startsWith(seen, history);
    const changed = results.length > 0 ? await toolTime.time(tree.hash) : treeHash;
    const record: TurnRecord = {
      turn: rows.length,
      promptTokens: seen.length,
      completionTokens: reply.tokens.length,
      toolCalls: calls,
      results,
      treeHash: changed === treeHash ? null : changed,
    };
    treeHash = changed;
    const row: LedgerTurn = {
      record,
      promptTokens: extended ? seen.slice(history.length) : seen,
      sampledTokens: reply.tokens,
      logProbs: reply.logProbs,
      weightVersion: reply.weightVersion,
      newSegment: !extended,
    };
    await request.ledger.append(row);
    rows.push(row);
    history = [...seen, ...reply.tokens];
  };

  /** One turn; null = go on. */
  const takeTurn = async (): Promise<ExitReason | null> => {
    const turn = rows.length;
    request.onTurn?.(turn);
    const reply = await ask(turn);
    const { content, toolCalls } = template.parse(reply.text, `call-${turn}`);
    messages.push({ role: "assistant", content, ...(toolCalls.length > 0 ? { toolCalls } : {}) });
    if (reply.finish === "length" || toolCalls.length === 0) {
      await append(reply, toolCalls, []);
      const usage = { promptTokens: prompt.length, completionTokens: reply.tokens.length };
      return reply.finish === "length" ? lengthExit(usage, limits) : "agent";
    }
    const results = await toolTime.time(() => runCalls(context, toolCalls, tree));
    if (signal?.aborted) return "cancelled";
    const answers = toolCalls.map(
      (call, i): Message => ({
        role: "tool",
        toolCallId: call.id,
        content: results[i]!,
      }),
    );
    messages.push(...answers);
    await append(reply, toolCalls, results);
    prompt = [...history, ...template.extend(answers)];
    return null;
  };

  const run = async (): Promise<ExitReason> => {
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

  const exit = await run();
  return {
    trajectory: {
      segments: segmentsOf(rows),
      turns: rows.map((row) => row.record),
      messages,
      weightVersion: rows[0]?.weightVersion ?? request.policy,
      exit,
      generatedTokens: rows.reduce((sum, row) => sum + row.sampledTokens.length, 0),
    },
    modelSeconds: modelTime.seconds,
    toolSeconds: toolTime.seconds,
  };
}
