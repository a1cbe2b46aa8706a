/** What `POST /v1/experiments` starts: a bundled experiment by name, or settings that came with the request. Files are never read by path. */
import type { ExperimentSettings } from "../../core/experiment.ts";
import { applyOverrides, parseExperimentFile, SettingsError } from "../../core/schemas/index.ts";
import { checkEnvironments, checkPolicy, loadExperiment } from "../control/index.ts";

export interface StartRequest {
  readonly experiment: string | Readonly<Record<string, unknown>>;
  readonly name?: string | undefined;
  readonly seed?: number | undefined;
  readonly set?: readonly string[] | undefined;
}

/** As problems name the settings that came with a request. */
const SOURCE = "experiment";

const BUNDLED = /^(quickstart|evidence|frognano)$/;

function refused(field: string, found: string | null, expected: string): SettingsError {
  const kind = found === null ? "missing" : "impossible-value";
  return new SettingsError(kind, { file: SOURCE, field, line: null, found, expected });
}

function given({ experiment, seed, set = [] }: StartRequest): ExperimentSettings {
  try {
    const text = typeof experiment === "string" ? experiment : JSON.stringify(experiment);
    const seeded = seed === undefined ? set : [...set, `seed=${seed}`];
    return applyOverrides(parseExperimentFile(text, SOURCE), seeded);
  } catch (error) {
    // Nothing that a person writes is as deep as the stack.
    if (error instanceof RangeError) throw refused("", "values nested too deep", "an experiment");
    throw error;
  }
}

/** Checked as a command line would check it. Throws SettingsError. */
export async function readStart(
  request: StartRequest,
): Promise<{ readonly name: string; readonly settings: ExperimentSettings }> {
  const { experiment, seed, set = [] } = request;
  const bundled = typeof experiment === "string" && BUNDLED.test(experiment);
  const loaded = bundled
    ? await loadExperiment(experiment, { set, ...(seed === undefined ? {} : { seed }) })
    : { settings: given(request), defaultName: undefined };
  const { settings } = loaded;
  const name = request.name ?? loaded.defaultName;
  if (name === undefined) throw refused("name", null, "a name, since the settings have none");
  // Whoever may start experiments must not have this process send its secrets somewhere.
  if (settings.policy.apiKeyEnv !== null && !settings.policy.apiKeyEnv.startsWith("POLICY_"))
    throw refused(
      "policy.apiKeyEnv",
      settings.policy.apiKeyEnv,
      "over HTTP, a name that begins with POLICY_",
    );
  await checkEnvironments(settings, SOURCE);
  await checkPolicy(settings, SOURCE);
  return { name, settings };
}
