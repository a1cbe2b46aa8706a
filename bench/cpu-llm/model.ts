/**
 * `npm run gpu-path:model`: makes a scribe, the small model of experiments/cpu-llm.yaml, and warms it up until it solves its exercises sometimes.
 * Each round trains on exercises that no round had before and no task ever is; after it, others are tried. docs/cpu-lane.md.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { random } from "../../core/random.ts";
import { readModelFiles } from "../../services/policy/model/files.ts";
import { createModelTemplate } from "../../services/policy/model/template.ts";
import { createModelTokenizer } from "../../services/policy/model/tokenizer.ts";
import { drawExercise, type Exercise } from "../../services/synthesis/exercise.ts";
import { encodeBatch } from "../../services/trainers/batch.ts";
import { callOf, promptOf, textOf, warmUpRow } from "./conversation.ts";
import { lane } from "./lane.ts";

const HELP = `usage: npm run gpu-path:model [-- options]

  --out FOLDER       where the model goes (default: models/scribe of the lane's folder)
  --until RATE       solved share of its exercises after which warming up ends (default: 0.25)
  --rounds N         rounds at most (default: 40)
  --seed N           of weights and exercises (default: 1)

exit codes: 0 made, or there already; 1 it did not learn enough; 2 bad arguments`;

/** Copying is learnt at once, after some ten thousand exercises; from there on it is learnt in small steps. */
const FIRST_ROUND = { exercises: 12_288, learningRate: "1.5e-3" } as const;
const NEXT_ROUNDS = { exercises: 1024, learningRate: "5e-4" } as const;
const TRIED = 96;

interface Options {
  readonly out: string;
  readonly until: number;
  readonly rounds: number;
  readonly seed: number;
}

/** Runs a command of the lane's Python; each line it prints goes to `line`. */
async function python(
  args: readonly string[],
  input: string,
  line: (text: string) => void = () => {},
): Promise<void> {
  const child = spawn(lane.python, args, {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, PYTHONPATH: lane.trainerPackage, PYTHONDONTWRITEBYTECODE: "" },
  });
  child.stdin.end(input);
  createInterface({ input: child.stdout }).on("line", line);
  const code = await new Promise((done, failed) => child.on("error", failed).on("close", done));
  if (code !== 0) throw new Error(`${args.slice(0, 3).join(" ")} ended with exit code ${code}`);
}

function draw(seed: number, use: string, count: number): Exercise[] {
  return Array.from({ length: count }, (_, n) => drawExercise(random(seed, "scribe", use, n), true));
}

function templateOf(folder: string) {
  const texts = readdirSync(folder).filter((name) => /\.(json|jinja)$/.test(name));
  const files = Object.fromEntries(texts.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
  return {
    template: createModelTemplate({ files, calls: "hermes-json", where: folder }),
    tokenizer: createModelTokenizer(folder, readModelFiles(folder, files)),
  };
}

/** Share of exercises whose first turn, sampled at temperature 1, is the right call. */
async function solvedShare(model: string, seed: number, round: number): Promise<number> {
  const { template } = templateOf(model);
  const tried = draw(seed, `try ${round}`, TRIED);
  const prompts = tried.map((exercise) => JSON.stringify(promptOf(exercise, template))).join("\n");
  const replies: string[] = [];
  await python([join(import.meta.dirname, "sample.py"), model, String(seed)], prompts, (text) =>
    replies.push(JSON.parse(text) as string),
  );
  return tried.filter((exercise, i) => replies[i] === callOf(exercise)).length / TRIED;
}

async function warmUp({ out, until, rounds, seed }: Options): Promise<boolean> {
  const work = `${out}.making`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  let model = join(work, "start");
  const texts = draw(seed, "tokenizer", 2000).map((exercise) => JSON.stringify(textOf(exercise)));
  await python(
    [join(import.meta.dirname, "scribe.py"), model, String(seed)],
    `${texts.join("\n")}\n`,
    (text) => console.log(`start: ${text}`),
  );
  for (let round = 1; round <= rounds; round++) {
    const { template, tokenizer } = templateOf(model);
    const { exercises, learningRate } = round === 1 ? FIRST_ROUND : NEXT_ROUNDS;
    const rows = draw(seed, `round ${round}`, exercises).map((exercise, n) =>
      warmUpRow(exercise, n, template, tokenizer),
    );
    const batch = join(work, "batch.arrow");
    writeFileSync(batch, encodeBatch(rows));
    const made = join(work, `round-${round}`);
    let loss = Number.NaN;
    await python(
      ["-m", "tadpole_torch", "warmup", "--parent", model, "--batch", batch, "--out", made, "--cpu"].concat([
        "--rows-per-step",
        "32",
        "--learning-rate",
        learningRate,
        "--pack-tokens",
        "4096",
        "--seed",
        String(seed),
      ]),
      "",
      (text) => {
        const said = JSON.parse(text) as { loss?: number };
        if (said.loss !== undefined) loss = said.loss;
      },
    );
    model = join(made, "model");
    const solved = await solvedShare(model, seed, round);
    console.log(`round ${round}: ${loss.toFixed(3)} nats per token, ${(100 * solved).toFixed(0)} % solved`);
    if (solved < until) continue;
    renameSync(model, out);
    rmSync(work, { recursive: true, force: true });
    return true;
  }
  return false;
}

function optionsOf(): Options {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: join(lane.folder, "models", "scribe") },
      until: { type: "string", default: "0.25" },
      rounds: { type: "string", default: "40" },
      seed: { type: "string", default: "1" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    process.exit(0);
  }
  const [until, rounds, seed] = [Number(values.until), Number(values.rounds), Number(values.seed)];
  if (!(until > 0 && until < 1)) throw new Error(`--until ${values.until}: expected a share between 0 and 1`);
  for (const [name, value] of [
    ["rounds", rounds],
    ["seed", seed],
  ] as const)
    if (!Number.isInteger(value) || value < 1)
      throw new Error(`--${name} ${value}: expected a whole number from 1 on`);
  return { out: resolve(values.out), until, rounds, seed };
}

let options: Options;
try {
  options = optionsOf();
} catch (error) {
  console.error(`${(error as Error).message}\n\n${HELP}`);
  process.exit(2);
}
if (existsSync(options.out)) console.log(`${options.out} is there already`);
else if (!existsSync(lane.python)) {
  console.error(`${lane.python} is missing: npm run gpu-path:install makes it`);
  process.exit(1);
} else if (await warmUp(options)) console.log(`made ${options.out}`);
else {
  console.error(`${options.rounds} rounds were not enough: --rounds ${2 * options.rounds} trains longer`);
  process.exit(1);
}
