/**
 * Rollouts of the embedded policy on one small task, sampled token by token as its server does. The tools answer from a
 * table of texts in Leaf's formats, so that trainer tests need no sandbox.
 */
import { advantages } from "../../core/advantage.ts";
import { random } from "../../core/random.ts";
import type { Message } from "../../core/trajectory.ts";
import { createNanoTemplate, openConversation, SLOTS } from "../../services/policy/index.ts";
import { drawToken, scoreCandidates } from "../../services/policy/nano/sampling.ts";
import type { BatchRow } from "../../services/trainers/index.ts";

const SOURCE = `exports.add = function add(a, b) {
  if (a === undefined) return b;
  return a - b;
};

exports.clamp = function clamp(value, low, high) {
  if (value < low) return low;
  return value > high ? high : value;
};`;
const FIXED = "return a + b;";

const STATEMENT = `sums: a number that is too small

For some inputs a number is too small.

Run:
\`\`\`bash
node -e 'console.log(require("./index.js").add(2, 3))'
\`\`\`
Prints:
\`\`\`
-1
\`\`\`
Should print:
\`\`\`
5
\`\`\``;

const template = createNanoTemplate();
const SAMPLING = { temperature: 1, topP: 1, topK: 0, minP: 0 };
const MAX_TURNS = 12;

function answer(
  source: string,
  name: string,
  args: Record<string, string>,
): { text: string; source: string } {
  switch (name) {
    case "Glob":
      return { text: args.pattern === "*.js" ? "index.js" : "No files matched.", source };
    case "Read": {
      const lines = source.split("\n").map((line, index) => `${index + 1}. ${line}`);
      return { text: [args.file_path, ...lines].join("\n"), source };
    }
    case "Edit":
      return {
        text: `Edited ${args.file_path}`,
        source: source.replace(args.old_string!, () => args.new_string!),
      };
    default: {
      const printed = source.includes(FIXED) ? "5" : "-1";
      return { text: `Exit code: 0\nSTDOUT:\n${printed}\n\nSTDERR:\n`, source };
    }
  }
}

/** One rollout under `weights`; `raw` is 1 if it left the mistake corrected. */
export function rollout(
  weights: Float64Array,
  seed: number,
  member: number,
): Pick<BatchRow, "raw" | "tokens" | "trainable" | "logProbs"> {
  const draw = random(seed, "rollout", member);
  const conversation = openConversation();
  const tokens: number[] = [];
  const trainable: (0 | 1)[] = [];
  const logProbs: number[] = [];
  const push = (token: number, logProb: number | null) => {
    tokens.push(token);
    trainable.push(logProb === null ? 0 : 1);
    logProbs.push(logProb ?? 0);
    conversation.append(token);
  };
  const system: Message = { role: "system", content: "You repair software." };
  for (const token of template.start([system, { role: "user", content: STATEMENT }], [])) push(token, null);
  let source = SOURCE;
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    for (let candidates = conversation.next(); candidates !== null; candidates = conversation.next()) {
      const scores = scoreCandidates(candidates, weights);
      const { index, logProb } = drawToken(scores, candidates.tokens, SAMPLING, draw.next());
      push(candidates.tokens[index]!, logProb);
    }
    const { toolCalls } = template.parse(conversation.render(), `call-${turn}`);
    if (toolCalls.length === 0) break;
    const results = toolCalls.map((call): Message => {
      const result = answer(source, call.name, JSON.parse(call.arguments) as Record<string, string>);
      source = result.source;
      return { role: "tool", toolCallId: call.id, content: result.text };
    });
    for (const token of template.extend(results, tokens)) push(token, null);
  }
  return { raw: source.includes(FIXED) ? 1 : 0, tokens, trainable, logProbs };
}

/** A batch of `groups` groups of `size` rollouts. Rewards are given by length, so that every group is mixed. */
export function rolloutBatch(weights: Float64Array, seed: number, groups: number, size: number): BatchRow[] {
  return Array.from({ length: groups }, (_, g) => {
    const rows = Array.from({ length: size }, (_, member) => rollout(weights, seed + g, member));
    const order = rows.map((row) => row.tokens.length).sort((a, b) => a - b);
    const raw = rows.map((row): 0 | 1 => (row.tokens.length > order[size >> 1]! ? 1 : 0));
    const estimated = advantages(raw, { estimator: "group-std-population" });
    return rows.map(
      (row, member): BatchRow => ({
        ...row,
        group: `group-${g}`,
        rollout: `group-${g}/${member}`,
        advantage: estimated[member]!,
        reward: raw[member]!,
        raw: raw[member]!,
      }),
    );
  }).flat();
}

/** Small weights on every slot: a policy that prefers some candidates to others. */
export function someWeights(seed: number): Float64Array {
  const stream = random(seed, "weights");
  return Float64Array.from({ length: SLOTS }, () => stream.next() - 0.5);
}
