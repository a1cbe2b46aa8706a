/** A Harbor task's verifier: the command that runs its tests and prints the reward they wrote, what is collected for it, and the box of one with an image of its own. */
import { join } from "node:path";
import type { Collected, FileChange, Verifier } from "../../../core/task.ts";
import { ImportError, type ImportedVerifierBox } from "../types.ts";
import { chosenArtifacts } from "./artifacts.ts";
import type { HarborConfig } from "./config.ts";
import { resolveEnv } from "./env.ts";
import { optionalFolder, placed } from "./folder.ts";
import { has, limitsOf, verifierImage } from "./image.ts";

/**
 * What was in /logs/verifier before is gone; reward.json wins over reward.txt; without either nothing is printed, which is no reward
 * of 0 but none at all. As with Harbor, the script's own exit code says nothing. Nothing stands before `--` any more, where commands to be run
 * first once did; the text stays as it is, since it is part of each task's hash.
 */
const SCRIPT = `rm -rf /logs/verifier
mkdir -p /logs/verifier /logs/artifacts /logs/agent
while [ "$1" != -- ]; do timeout -s KILL "$1" bash -c "$2" >&2 </dev/null; shift 2; done
shift
env "$@" bash /tests/test.sh >&2 </dev/null
cd /logs/verifier || exit 1
if [ -e reward.json ]; then exec cat reward.json; fi
exec cat reward.txt`;

/** argv for the root of the working tree. The report is on stdout; what hooks and tests print is on stderr. */
export function verifierArgv(env: Readonly<Record<string, string>>): readonly string[] {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return ["bash", "-c", SCRIPT, "verifier", "--", ...variables];
}

export interface HarborVerifier {
  readonly verifier: Verifier;
  readonly box: ImportedVerifierBox | null;
  /** Of its variables, and of how it judges. */
  readonly notes: { readonly env: readonly string[]; readonly rule: readonly string[] };
}

/** Throws ImportError. */
export async function readVerifier(folder: string, config: HarborConfig): Promise<HarborVerifier> {
  const tests = (await optionalFolder(folder, "tests")) ?? [];
  const own = ownBox(folder, config, tests);
  // An image of the verifier's own brings its tests.
  if (own === null && !has(tests, "test.sh"))
    throw new ImportError(
      "field",
      { file: folder, field: "tests/test.sh" },
      "a script that writes the reward",
      "none",
    );
  const { env, notes } = resolveEnv(config.verifier.env, "verifier.env");
  const beside = own === null ? collectedBeside(folder, config) : null;
  const verifier = {
    files: own === null ? placed(tests, "/tests") : [],
    commands: [
      {
        scope: "",
        argv: verifierArgv(env),
        format: "reward",
        reportFile: null,
      },
    ],
    exact: null,
    timeoutSeconds: config.verifier.timeoutSeconds,
    ...(beside && { collected: beside.collected }),
  } satisfies Verifier;
  return {
    verifier,
    box: own?.box ?? null,
    notes: { env: notes, rule: own?.notes ?? [...sameImageNotes(config), ...(beside?.notes ?? [])] },
  };
}

function ownBox(
  folder: string,
  config: HarborConfig,
  tests: readonly FileChange[],
): { readonly box: ImportedVerifierBox; readonly notes: readonly string[] } | null {
  const image = verifierImage(folder, config, tests);
  if (image === null) return null;
  const { environment } = config.verifier;
  const like = environment ?? config.environment;
  // Of the environment's own variables the task has its notes already.
  const { env, notes } = resolveEnv(like.env, "verifier.environment.env");
  const { collected, notes: left } = collectedOf(folder, config);
  return {
    box: {
      image,
      workdir: like.workdir,
      env,
      limits: limitsOf(like),
      ...collected,
    },
    notes: [
      ...(environment === null ? [] : notes),
      ...left,
      "artifacts are taken from the agent's tree in a box made again: of what it wrote elsewhere only what collect hooks make is there",
    ],
  };
}

interface FromAgentBox {
  readonly collected: Collected;
  readonly notes: readonly string[];
}

function collectedOf(folder: string, { verifier, artifacts }: HarborConfig): FromAgentBox {
  const chosen = chosenArtifacts(artifacts, join(folder, "task.toml"));
  const collect = verifier.collect.map(({ command, timeoutSeconds }) => ({
    argv: ["bash", "-c", command],
    timeoutSeconds,
  }));
  return { collected: { collect, artifacts: chosen.artifacts }, notes: chosen.notes };
}

/** Without hooks the agent's tree, which is there, is all that there is to collect. */
function collectedBeside(folder: string, config: HarborConfig): FromAgentBox | null {
  return config.verifier.collect.length === 0 ? null : collectedOf(folder, config);
}

function sameImageNotes({ verifier, artifacts }: HarborConfig): string[] {
  const notes: string[] = [];
  if (verifier.mode === "separate")
    notes.push("the separate verifier sees the whole tree of the agent, not the artifacts alone");
  if (verifier.collect.length > 0)
    notes.push(
      "commands of verifier.collect run in a box of their own, on the agent's tree: of what they write the artifacts alone reach the verifier",
    );
  else if (artifacts.length > 0)
    notes.push(`artifacts are not collected: ${artifacts.map(({ source }) => source).join(", ")}`);
  return notes;
}
