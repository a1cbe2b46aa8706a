import { readFileSync } from "node:fs";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import type { RolloutLimits } from "../../core/experiment.ts";
import type { ExitReason, ToolCall } from "../../core/trajectory.ts";
import {
  type CommandCache,
  type RolloutRequest,
  runRollout,
  segmentsOf,
} from "../../services/harness/index.ts";
import { lengthExit } from "../../services/harness/limits.ts";
import { type Completion, PolicyError } from "../../services/policy/client.ts";
import { TOOL } from "../../services/policy/nano/tokens.ts";
import type { PolicyTemplate } from "../../services/policy/template.ts";
import { type Sandbox, SandboxError } from "../../services/sandbox/runtime.ts";
import { bash, memoryLedger, rolloutOf, SAMPLING, sayCall, sayer } from "./harness-policy.ts";
import { type FolderSandbox, openFolder } from "./harness-sandbox.ts";

interface Reply {
  readonly content?: string | null;
  readonly toolCalls?: readonly ToolCall[];
  readonly finish?: string;
  readonly usage?: readonly [number, number] | null;
  readonly error?: string;
  readonly sandboxLost?: boolean;
}

interface LoopCase {
  readonly name: string;
  readonly limits: { readonly maxTokensPerTurn: number | null; readonly cancelledAtStart?: boolean } & Omit<
    RolloutLimits,
    "maxTokensPerTurn"
  >;
  readonly replies: readonly Reply[];
  readonly expected: {
    readonly exit: ExitReason;
    readonly turns: number;
    readonly executed: readonly string[];
    readonly observations?: readonly string[];
  };
}

const { cases } = JSON.parse(readFileSync(new URL("../vectors/leaf-loop.json", import.meta.url), "utf8")) as {
  readonly cases: readonly LoopCase[];
};

let sandbox: FolderSandbox | undefined;
afterEach(async () => {
  await sandbox?.destroy();
  sandbox = undefined;
});

/** A client that answers from a list, and a template whose prompts have the lengths the replies state. */
function scripted(replies: readonly Reply[]) {
  let asked = 0;
  let total = 0;
  const usage = (turn: number) => replies[turn]?.usage ?? [10, 10];
  const growTo = (length: number) => new Array<number>(Math.max(0, length - total)).fill(1);
  const template: PolicyTemplate = {
    start: () => growTo(usage(0)[0]),
    extend: () => growTo(usage(asked)[0]),
    parse: () => {
      const reply = replies[asked - 1]!;
      return { content: reply.content ?? null, toolCalls: reply.toolCalls ?? [] };
    },
    spans: (text) => [{ of: "text", length: text.length }],
  };
  const complete = async (): Promise<Completion> => {
    const reply = replies[asked];
    const [promptTokens, completionTokens] = usage(asked);
    asked++;
    if (!reply) throw new Error("the script has no further reply");
    if (reply.error)
      throw new PolicyError(reply.error.startsWith("502") ? "unreachable" : "context", reply.error);
    total = promptTokens + completionTokens;
    return {
      text: "",
      tokens: new Array<number>(completionTokens).fill(2),
      logProbs: new Array<number>(completionTokens).fill(-1),
      finish: reply.finish === "stop" || reply.finish === "tool_calls" ? "stop" : "length",
      weightVersion: "p",
      usage: { promptTokens, completionTokens },
    };
  };
  return { template, client: { capabilities: async () => Promise.reject(), complete }, asked: () => asked };
}

describe("the recorded ends of the reference loop", () => {
  it.each(cases.map((one) => [one.name, one] as const))("%s", async (_, { limits, replies, expected }) => {
    // A client of this project always knows its token counts; what Leaf does without is a rule of its own.
    if (replies.some((reply) => reply.usage === null)) {
      expect(lengthExit(null, limits)).toBe(expected.exit);
      return;
    }
    sandbox = await openFolder({});
    const ended = replies.some((reply) => reply.sandboxLost)
      ? { ...sandbox, exec: async () => Promise.reject(new SandboxError("lost", "gone")) }
      : sandbox;
    const script = scripted(replies);
    const ledger = memoryLedger();
    const abort = new AbortController();
    if (limits.cancelledAtStart) abort.abort();
    const outcome = await runRollout({
      statement: "fix it",
      policy: "p",
      limits: { ...limits, maxTokensPerTurn: limits.maxTokensPerTurn! },
      sampling: SAMPLING,
      turnSeed: () => 1,
      sandbox: ended as Sandbox,
      client: script.client,
      template: script.template,
      ledger,
      signal: abort.signal,
    }).then(
      ({ trajectory }) => ({ exit: trajectory.exit, turns: trajectory.turns }),
      // Infrastructure is no sample: the loop throws, and what it threw says which of Leaf's two reasons it was.
      (error: unknown) => ({
        exit: error instanceof SandboxError ? "tool_error" : "llm_query_error",
        turns: [],
      }),
    );
    expect(outcome.exit).toBe(expected.exit);
    expect(script.asked()).toBe(expected.turns);
    const executed = outcome.turns.flatMap((turn) =>
      turn.toolCalls.slice(0, turn.results.length).map((call) => call.id),
    );
    expect(executed).toEqual(expected.executed);
    if (expected.observations)
      expect(outcome.turns.flatMap((turn) => turn.results)).toEqual(expected.observations);
  });
});

/** In a small folder, which the test shares with its other rollouts. */
async function rollout(texts: readonly string[], more: Partial<RolloutRequest> = {}) {
  sandbox ??= await openFolder({ "a.js": "let a = 1;\n" });
  return rolloutOf(texts, sandbox, more);
}

describe("the token ledger", () => {
  it("makes each prompt the last one, what was sampled, and only the new messages", async () => {
    const { prompts, rows, trajectory } = await rollout([
      sayCall("Read", { file_path: "a.js" }),
      `look\n${sayCall("Edit", { file_path: "a.js", old_string: "1", new_string: "2" })}\n${bash("cat a.js")}`,
      "fixed",
    ]);
    expect(trajectory.exit).toBe("agent");
    expect(trajectory.segments).toHaveLength(1);
    const [segment] = trajectory.segments;
    for (const [i, row] of rows.entries()) {
      const before = rows.slice(0, i).flatMap((one) => [...one.promptTokens, ...one.sampledTokens]);
      expect(prompts[i]).toEqual([...before, ...row.promptTokens]);
    }
    expect(segment!.tokens).toEqual([...prompts[2]!, ...rows[2]!.sampledTokens]);
    expect(segment!.tokens.filter((_, i) => segment!.trainable[i])).toEqual(
      rows.flatMap((row) => row.sampledTokens),
    );
    expect(segment!.logProbs.filter((_, i) => segment!.trainable[i])).toEqual(
      rows.flatMap((row) => row.logProbs),
    );
    expect(trajectory.generatedTokens).toBe(segment!.trainable.filter(Boolean).length);
  });

  it("starts a new segment where the server saw another prompt than the one that continues the last", async () => {
    // From the second turn on a router in front of the server puts a token of its own before the prompt.
    const base = sayer([bash("true"), bash("true"), "done"], {
      seen: (prompt) => (prompt.includes(TOOL) && prompt[0] !== 7 ? [7, ...prompt] : [...prompt]),
    });
    const { trajectory, rows } = await rollout([], { client: base.client });
    expect(rows.map((row) => row.newSegment)).toEqual([true, true, false]);
    expect(trajectory.segments).toHaveLength(2);
    expect(trajectory.segments.at(-1)!.tokens[0]).toBe(7);
  });

  it("joins rows into segments that hold every token once", () => {
    const row = fc.record({
      promptTokens: fc.array(fc.nat(300), { maxLength: 5 }),
      sampledTokens: fc.array(fc.nat(300), { maxLength: 5 }),
      newSegment: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 6 }), (rows) => {
        const full = rows.map((one) => ({
          ...one,
          logProbs: one.sampledTokens.map(() => -1),
          weightVersion: "nano-1",
        }));
        const segments = segmentsOf(full);
        expect(segments.flatMap((one) => one.tokens)).toEqual(
          rows.flatMap((one) => [...one.promptTokens, ...one.sampledTokens]),
        );
        for (const one of segments) {
          expect(one.trainable).toHaveLength(one.tokens.length);
          expect(one.logProbs).toHaveLength(one.tokens.length);
        }
        const starts = rows.filter((one, i) => i === 0 || one.newSegment).length;
        expect(segments).toHaveLength(starts);
      }),
    );
  });

  it("is written before the next turn is asked for, and a refused row ends the rollout", async () => {
    const refusal = new Error("the fence is no longer current");
    const { client, prompts } = sayer([bash("true"), "done"]);
    await expect(
      rollout([], {
        client,
        ledger: { complete: async () => {}, append: async () => Promise.reject(refusal) },
      }),
    ).rejects.toBe(refusal);
    expect(prompts).toHaveLength(1);
  });
});

describe("the working tree", () => {
  it("has its hash in the record of exactly the turns that changed it", async () => {
    const { trajectory } = await rollout([
      bash("true"),
      sayCall("Write", { file_path: "n.js", content: "1" }),
      sayCall("Read", { file_path: "n.js" }),
      bash("rm n.js"),
      "done",
    ]);
    expect(trajectory.turns.map((turn) => turn.treeHash !== null)).toEqual([false, true, false, true, false]);
  });

  function mapCache(): CommandCache & { readonly size: () => number } {
    const known = new Map<string, string>();
    return {
      get: (tree, command) => known.get(`${tree} ${command}`),
      set: (tree, command, result) => void known.set(`${tree} ${command}`, result),
      size: () => known.size,
    };
  }

  it("lets a command's result be used again on the same tree, and only there", async () => {
    const commandCache = mapCache();
    const edit = sayCall("Edit", { file_path: "a.js", old_string: "1", new_string: "2" });
    const script = [bash("cat a.js"), bash("cat a.js"), edit, bash("cat a.js"), "done"];
    const { trajectory } = await rollout(script, { commandCache });
    expect(sandbox!.executed).toHaveLength(2);
    expect(trajectory.turns.map((turn) => turn.results[0]?.includes("let a = 2"))).toEqual([
      false,
      false,
      false,
      true,
      undefined,
    ]);
  });

  it("never keeps the result of a command that changed the tree, left something in /tmp, or was stopped", async () => {
    const commandCache = mapCache();
    const slow = sayCall("Bash", { command: "sleep 5", timeout: 0.1 });
    await rollout([bash("echo b > b.js"), slow, "done"], { commandCache });
    expect(commandCache.size()).toBe(0);
    const scratch = `${sandbox!.workdir}/../tmp`;
    await rollout([bash(`echo x > ${scratch}/f`), bash("true"), bash(`rm ${scratch}/f`), "done"], {
      commandCache,
    });
    expect(commandCache.size()).toBe(0);
  });

  it("ends the same with the cache and without", async () => {
    const script = [bash("ls"), bash("cat a.js; echo 3 >> a.js"), bash("cat a.js"), bash("ls"), "done"];
    const commandCache = mapCache();
    const plain = (await rollout(script)).trajectory;
    for (let run = 0; run < 2; run++) {
      await sandbox!.destroy();
      sandbox = await openFolder({ "a.js": "let a = 1;\n" });
      expect((await rollout(script, { commandCache })).trajectory).toEqual(plain);
    }
  });
});

describe("cancelling", () => {
  it("ends the rollout while a command runs, and leaves its turn unanswered", async () => {
    const abort = new AbortController();
    sandbox = await openFolder({});
    const inner = sandbox.exec;
    const slow = {
      ...sandbox,
      exec: (...given: Parameters<Sandbox["exec"]>) => {
        setImmediate(() => abort.abort());
        return inner(...given);
      },
    };
    const { trajectory, rows } = await rollout([bash("sleep 30"), "done"], {
      sandbox: slow,
      signal: abort.signal,
    });
    expect(trajectory.exit).toBe("cancelled");
    expect(rows).toMatchObject([{ answered: false, record: { results: [] } }]);
  });
});

describe("a sandbox that is lost", () => {
  const lostFor = async (outOfMemory: boolean) => {
    sandbox = await openFolder({});
    const exec = async () => Promise.reject(new SandboxError("lost", "gone", { outOfMemory }));
    return rolloutOf([bash("true"), "done"], { ...sandbox, exec } as Sandbox);
  };

  it("ends the rollout where its commands took all memory: the turn that did it stays, without results", async () => {
    const { trajectory, treeGiven, rows } = await lostFor(true);
    expect(trajectory).toMatchObject({ exit: "tool_error", turns: [{ results: [] }] });
    expect(trajectory.generatedTokens).toBe(rows[0]!.sampledTokens.length);
    expect(treeGiven).toBe(rows[0]!.reply.treeBefore);
  });

  it("is no sample otherwise", () =>
    expect(lostFor(false)).rejects.toMatchObject({ kind: "lost", outOfMemory: false }));
});

describe("a turn that waits for an engine", () => {
  it("is not cut off for the wait, and all turns of the rollout ask for the same engine", async () => {
    sandbox = await openFolder({});
    const { client } = sayer([bash("true"), bash("true"), "done"]);
    const affinities: (string | undefined)[] = [];
    const waiting: RolloutRequest["client"] = {
      ...client,
      complete: async (turn) => {
        affinities.push(turn.affinity);
        const reply = await client.complete(turn);
        return { ...reply, usage: { ...reply.usage, queueSeconds: 3600 } };
      },
    };
    const limits = { maxContextTokens: 100_000, maxTurns: 20, maxTokensPerTurn: 5000, maxSeconds: 60 };
    const more = { client: waiting, limits, affinity: "group/3" };
    const { trajectory, modelSeconds } = await rolloutOf([], sandbox, more);
    expect(trajectory).toMatchObject({ exit: "agent", turns: { length: 3 } });
    expect(modelSeconds).toBe(0);
    expect(affinities).toEqual(["group/3", "group/3", "group/3"]);
  });

  it("counts for what the policy itself took", async () => {
    sandbox = await openFolder({});
    const { client } = sayer(["done"]);
    const slow: RolloutRequest["client"] = {
      ...client,
      complete: async (turn) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return client.complete(turn);
      },
    };
    const { modelSeconds } = await rolloutOf([], sandbox, { client: slow });
    expect(modelSeconds).toBeGreaterThan(0);
  });
});
