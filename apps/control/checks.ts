/** Checks of an experiment before anything is started for it. */
import type { ExperimentSettings, TaskSetSettings } from "../../core/experiment.ts";
import { isEngineKind } from "../../core/policy.ts";
import { SettingsError } from "../../core/schemas/index.ts";
import { dataFolder } from "../../infra/stack/index.ts";
import { hasCommits, loadEntries, type PinnedEntry } from "../../services/environments/index.ts";
import {
  createEngineFleet,
  createOpenAIClient,
  PolicyError,
  requireTraining,
} from "../../services/policy/index.ts";

export { codeVersion } from "../../infra/stack/code-version.ts";

/**
 * Every environment must be in the catalogue or added to the data folder, and none that start policies are made from may be trained or measured on.
 * The embedded policy repairs JavaScript by what a reproduction prints, which only tape's tests always have. Throws SettingsError.
 */
export async function checkEnvironments(
  settings: ExperimentSettings,
  file: string,
  folder: string = dataFolder(),
): Promise<void> {
  const { entries } = await loadEntries(folder);
  const usable = entries
    .filter(
      ({ role, framework }) =>
        role !== "pretrain" && (settings.policy.kind !== "nano" || framework === "tape"),
    )
    .map((entry) => entry.name);
  const sets: Record<string, TaskSetSettings> = {
    "selection.set": settings.selection.set,
    ...Object.fromEntries(
      Object.entries(settings.evaluation.sets).map(([name, set]) => [`evaluation.sets.${name}`, set]),
    ),
  };
  const named = [
    ["environments.train", settings.environments.train] as const,
    ...Object.entries(sets).map(([field, set]) => [`${field}.environments`, set.environments] as const),
  ];
  for (const [field, names] of named) {
    const unknown = names.find((name) => !usable.includes(name));
    if (unknown === undefined) continue;
    throw new SettingsError("impossible-value", {
      file,
      field,
      line: null,
      found: unknown,
      expected: `names of environments (tadpole env list)${settings.policy.kind === "nano" ? " whose tests use tape" : ""}: ${usable.join(", ")}`,
    });
  }
  checkHistory(settings, entries, file);
}

/** The generator of commits needs an environment that has some, from the first iteration in which it is asked. */
function checkHistory(settings: ExperimentSettings, entries: readonly PinnedEntry[], file: string): void {
  const { train } = settings.environments;
  const weights = [
    ["synthesis.mix.history", settings.synthesis.mix.history] as const,
    ...settings.overrides.map(({ mix }, i) => [`overrides.${i}.mix.history`, mix?.history] as const),
  ];
  const [field, weight] = weights.find(([, asked]) => (asked ?? 0) > 0) ?? [];
  if (field === undefined || entries.some((entry) => train.includes(entry.name) && hasCommits(entry))) return;
  throw new SettingsError("impossible-value", {
    file,
    field,
    line: null,
    found: `${weight} with environments.train ${train.join(", ")}`,
    expected:
      "0, or an environment among environments.train that is a commit of a git repository (tadpole env add git:<path or URL>@<ref>)",
  });
}

/** Asks whatever the policy is asked through, once. Throws PolicyError. */
async function askPolicy({ kind, engines, baseUrl, apiKeyEnv, model }: ExperimentSettings["policy"]) {
  if (isEngineKind(kind) && engines != null) {
    const capabilities = await createEngineFleet({ kind, engines, apiKeyEnv }).capabilities();
    return requireTraining(capabilities, engines.urls.join(", "), "policy.engines.urls");
  }
  if (baseUrl === null) return;
  requireTraining(await createOpenAIClient({ baseUrl, apiKeyEnv, model }).capabilities(), baseUrl);
}

/**
 * What the policy is asked through must be fit for training. Throws SettingsError for a kind that has no trainer here, for a server or an
 * engine that does not answer or returns no token ids, and for engines of different models.
 */
export async function checkPolicy(settings: ExperimentSettings, file: string): Promise<void> {
  const { kind, engines, baseUrl } = settings.policy;
  if (kind === "openai") {
    throw new SettingsError("impossible-value", {
      file,
      field: "policy.kind",
      line: null,
      found: kind,
      expected: "a kind whose weights are trained: nano, vllm or sglang; openai is for evaluation",
    });
  }
  try {
    await askPolicy(settings.policy);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    const found =
      engines == null
        ? { field: "policy.baseUrl", at: baseUrl }
        : { field: "policy.engines.urls", at: engines.urls.join(", ") };
    throw new SettingsError(
      "impossible-value",
      {
        file,
        field: found.field,
        line: null,
        found: `${found.at} (${error.message})`,
        expected:
          engines == null
            ? "a server that answers and returns token ids, log-probabilities and its weight version"
            : "engines of one model that answer and return token ids, log-probabilities and their weight version (vLLM: VLLM_SERVER_DEV_MODE=1)",
      },
      { cause: error },
    );
  }
}
