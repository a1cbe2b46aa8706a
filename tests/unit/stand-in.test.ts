/** Stand-in policies: a real server and client, the solution's calls run by the real tools, and the pass rate that was asked for. */
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkSettings } from "../../core/consistency.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { policyId } from "../../core/policy.ts";
import { parseExperimentFile } from "../../core/schemas/index.ts";
import type { FileChange } from "../../core/task.ts";
import {
  CheckpointError,
  createNanoTemplate,
  createOpenAIClient,
  createPolicyServer,
  decodeStandIn,
  encodeStandIn,
  type PolicyServer,
  publishPolicy,
} from "../../services/policy/index.ts";

const STATEMENT = "something: is wrong\n\nPlease correct it.\n";
const GOLD: readonly FileChange[] = [
  { kind: "write", path: "lib/it's.js", content: 'module.exports = "</tool_call>";\n', encoding: "utf8" },
];
const RATES = [0, 0.25, 0.5, 1];
const SAMPLING = { temperature: 1, topP: 1, topK: 0, minP: 0 };

let folder: string;
let server: PolicyServer;
let policy: string;
let level = 2;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stand-in-"));
  server = await createPolicyServer({
    folder: join(folder, "server"),
    port: 0,
    answers: async (statement) => (statement === STATEMENT ? { level, gold: GOLD } : null),
  });
  const bytes = encodeStandIn({ passRates: RATES });
  const path = join(folder, "policy");
  await writeFile(path, bytes);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  policy = policyId("stand-in", sha256);
  const checkpoint = { uri: `file://${path}`, sha256, bytes: bytes.length, kind: "policy" } as const;
  await publishPolicy({
    baseUrl: server.url,
    policy: { id: policy, checkpoint, parent: null, step: 0 },
    path,
  });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const template = createNanoTemplate();
const promptOf = (statement: string) =>
  template.start(
    [
      { role: "system", content: "You are an agent." },
      { role: "user", content: statement },
    ],
    [],
  );

const complete = (prompt: readonly number[], seed: number, maxTokens = 4096) =>
  createOpenAIClient({ baseUrl: server.url }).complete({
    policy,
    prompt,
    maxTokens,
    sampling: SAMPLING,
    seed,
  });

const solves = (text: string) => text.includes("<tool_call>");

describe("a stand-in", () => {
  it("solves as often as its rate for the statement's level says", async () => {
    for (level of [0, 1, 2, 3]) {
      const runs = 200;
      let solved = 0;
      for (let seed = 0; seed < runs; seed++)
        if (solves((await complete(promptOf(STATEMENT), seed)).text)) solved++;
      const rate = RATES[level]!;
      // Five standard deviations.
      const bound = 5 * Math.sqrt((rate * (1 - rate)) / runs);
      expect(Math.abs(solved / runs - rate)).toBeLessThanOrEqual(bound);
    }
  });

  it("gives the log-probability of its choice at the first token, and the same reply to the same request", async () => {
    level = 1;
    for (let seed = 0; seed < 20; seed++) {
      const reply = await complete(promptOf(STATEMENT), seed);
      expect(reply).toEqual(await complete(promptOf(STATEMENT), seed));
      expect(reply.logProbs[0]).toBeCloseTo(Math.log(solves(reply.text) ? 0.25 : 0.75), 12);
      expect(reply.logProbs.slice(1).every((logProb) => logProb === 0)).toBe(true);
      expect(reply.weightVersion).toBe(policy);
    }
  });

  it("makes the solution's change by calls that parse back to it", async () => {
    level = 3;
    const { text, finish } = await complete(promptOf(STATEMENT), 1);
    const { toolCalls } = template.parse(text, "call");
    expect(finish).toBe("stop");
    expect(toolCalls.map(({ name, arguments: args }) => [name, JSON.parse(args)])).toEqual([
      ["Write", { file_path: "lib/it's.js", content: 'module.exports = "</tool_call>";\n' }],
    ]);
  });

  it("changes nothing for a statement that it does not know, and ends at its second turn", async () => {
    level = 3;
    const unknown = await complete(promptOf("another statement"), 1);
    expect(solves(unknown.text)).toBe(false);
    const first = await complete(promptOf(STATEMENT), 1);
    const next = [
      ...promptOf(STATEMENT),
      ...first.tokens,
      ...template.extend([{ role: "tool", toolCallId: "call-0", content: "written" }], first.tokens),
    ];
    expect(await complete(next, 2)).toMatchObject({ text: "Done.", finish: "stop" });
  });

  it("is cut where the turn has no more tokens", async () => {
    level = 3;
    const { finish, tokens } = await complete(promptOf(STATEMENT), 1, 10);
    expect([finish, tokens.length]).toEqual(["length", 10]);
  });
});

describe("its checkpoint", () => {
  it("comes back as it was written", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 4, maxLength: 4 }),
        (rates) => {
          const passRates = rates.map((rate) => rate + 0);
          expect(decodeStandIn(encodeStandIn({ passRates }))).toEqual({ passRates });
        },
      ),
    );
  });

  it("is refused where a rate is none, and left to others where it is another kind of file", () => {
    const file = (passRates: unknown) =>
      Buffer.from(JSON.stringify({ format: "tadpole-stand-in", version: 1, passRates }));
    for (const rates of [[0, 1, 1], [0, 0, 0, 2], ["0", 0, 0, 0], null])
      expect(() => decodeStandIn(file(rates))).toThrow(CheckpointError);
    expect(decodeStandIn(Buffer.from("not JSON"))).toBeNull();
    expect(decodeStandIn(Buffer.from("{}"))).toBeNull();
  });
});

describe("an experiment with one", () => {
  const { climb, ...minimal } = parseExperimentFile(
    `policy: { kind: nano }
environments: { train: [a] }
selection: { set: { environments: [a], tasks: 4 } }
evaluation: { sets: { unseen: { environments: [b], tasks: 4 } } }
`,
    "m.yaml",
  );
  const problems = (
    kind: ExperimentSettings["policy"]["kind"],
    passRates: readonly number[] | null,
    updates: number,
    limits: Partial<ExperimentSettings["rollout"]["limits"]> = { maxTurns: 2, maxTokensPerTurn: 65_536 },
    overrides: ExperimentSettings["overrides"] = [],
  ) =>
    checkSettings({
      ...minimal,
      policy: { ...minimal.policy, kind, passRates },
      climb: { ...climb, updates },
      rollout: { ...minimal.rollout, limits: { ...minimal.rollout.limits, ...limits } },
      overrides,
    }).map(({ path }) => path.join("."));

  it("needs four pass rates and trains nothing", () => {
    expect(problems("stand-in", RATES, 0)).toEqual([]);
    expect(problems("stand-in", RATES, 1)).toEqual(["climb.updates"]);
    expect(problems("stand-in", null, 0)).toEqual(["policy.passRates"]);
    expect(problems("nano", RATES, 1)).toEqual(["policy.passRates"]);
    expect(problems("nano", null, 0)).toEqual([]);
  });

  it("is refused limits that would cut a solution, in any iteration", () => {
    const tight = { maxTurns: 1, maxTokensPerTurn: 16_383 };
    const named = ["maxTurns", "maxTokensPerTurn"];
    expect(problems("stand-in", RATES, 0, tight)).toEqual(named.map((name) => `rollout.limits.${name}`));
    expect(problems("stand-in", RATES, 0, { maxTokensPerTurn: 16_384 })).toEqual([]);
    expect(problems("nano", null, 0, tight)).toEqual([]);
    const later = [{ fromIteration: 2, limits: tight }];
    expect(problems("stand-in", RATES, 0, undefined, later)).toEqual(
      named.map((name) => `overrides.0.limits.${name}`),
    );
  });
});
