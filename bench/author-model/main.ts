/**
 * `npm run evidence:author [-- ATTEMPTS]`: a real small language model on the CPU as author. It cannot write tasks; what is shown is that each attempt ends with
 * a named reason, that nothing invalid passes, and that the books hold what the server counted. Exit code 1 where that is not so.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { errorKind } from "../../core/errors.ts";
import { random } from "../../core/random.ts";
import { addTokens, generatedOf, NO_TOKENS, type SpendBooks, type TokenCounts } from "../../core/spend.ts";
import { TASK_TYPES } from "../../core/task.ts";
import { prepareEnvironment } from "../../services/environments/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";
import { type Brief, type Candidate, createSynthesis } from "../../services/synthesis/index.ts";
import { installModel } from "./install.ts";

const PACKAGE = "text-table";
const MODEL = "SmolLM2-135M-Instruct";
/** Small enough for a CPU: what the model writes beyond is no better. */
const LIMITS = { maxTurns: 3, maxTokens: 64, temperature: 0.8, repairs: 0, timeoutSeconds: 3600 };
const KINDS = ["free", "required"] as const;
const GATES = { maxFlakeRate: null, wrongSolutions: true, determined: true, decontaminate: [] };

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

const attempts = Number(process.argv[2] ?? 2);
console.log(`installing ${MODEL} and llama.cpp, once`);
const { weights, runtime: modules, data } = await installModel();

const counted: Usage[] = [];
const program = join(import.meta.dirname, "server.ts");
const server = spawn(process.execPath, [program, modules, weights], { stdio: ["ignore", "pipe", "ignore"] });
const url = await new Promise<string>((resolve, reject) => {
  server.once("exit", (code) => reject(new Error(`the model's server ended with code ${code}`)));
  // What llama.cpp says of itself stands between.
  createInterface({ input: server.stdout }).on("line", (line) => {
    if (line.startsWith("http://")) resolve(line);
    else if (line.startsWith('{"prompt_tokens"')) counted.push(JSON.parse(line) as Usage);
  });
});

const settled = new Map<string, TokenCounts>();
const books: SpendBooks = {
  reserve: async () => {},
  settle: async (key, used) => void settled.set(key, used),
};
const runtime = createProcessRuntime({ root: join(data, "sandboxes"), nodePath: process.execPath });
const grading = createGrading({ runtime });
const synthesis = createSynthesis({ grading, sandboxRuntime: runtime, mode: "warm" });
const runTests = (request: Parameters<GradingService["runTests"]>[0]) => grading.runTests(request, "cold");
let valid = 0;
let refused = 0;
try {
  const environment = await prepareEnvironment({ name: PACKAGE, dataFolder: data, runTests });
  const outcomeOf = async (candidate: Candidate | { readonly none: string }): Promise<string> => {
    if ("none" in candidate) return candidate.none;
    const { task, gates } = await synthesis.validate(environment, candidate, {
      stabilityRuns: 3,
      gates: GATES,
    });
    if (task === null) refused++;
    else valid++;
    const gate = gates.find(({ passed }) => !passed);
    return gate === undefined ? "valid: passed every gate" : `refused by ${gate.gate}: ${gate.evidence}`;
  };
  for (let attempt = 0; attempt < attempts; attempt++) {
    const kind = KINDS[attempt % KINDS.length]!;
    const key = `evidence/${attempt}`;
    const settings = { baseUrl: `${url}/${kind}`, model: MODEL, apiKeyEnv: null, ...LIMITS };
    const brief: Brief = {
      functions: "all",
      heldOutShare: 0,
      types: { ...Object.fromEntries(TASK_TYPES.map((type) => [type, 0])), bug: 1 } as NonNullable<
        Brief["types"]
      >,
      author: { settings, books, key, failures: [] },
    };
    const before = counted.length;
    const outcome = await synthesis
      .generate(environment, "llm", brief, random(1, attempt))
      .then(outcomeOf, (error: unknown) => `${errorKind(error)}: ${(error as Error).message}`);
    const used = counted.slice(before).map((one) => `${one.prompt_tokens}+${one.completion_tokens}`);
    console.log(
      `attempt ${attempt + 1}, calls ${kind}: ${outcome} (${used.length} turns, tokens ${used.join(", ")})`,
    );
  }
} finally {
  server.removeAllListeners("exit");
  server.kill();
  await grading.close();
}
const ledger = [...settled.values()].reduce(addTokens, NO_TOKENS);
const prompt = counted.reduce((sum, one) => sum + one.prompt_tokens, 0);
const generated = counted.reduce((sum, one) => sum + one.completion_tokens, 0);
const isRight = ledger.prompt + ledger.cached === prompt && generatedOf(ledger) === generated;
console.log(
  `${attempts} attempts: ${valid} valid, ${refused} refused by a gate, ${attempts - valid - refused} without a candidate\n` +
    `server counted ${prompt} prompt and ${generated} generated tokens; the books hold ${ledger.prompt + ledger.cached} and ${generatedOf(ledger)}${isRight ? "" : ": NOT EQUAL"}`,
);
process.exitCode = isRight ? 0 : 1;
