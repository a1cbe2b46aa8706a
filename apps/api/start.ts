/** Settings that a request names or brings: a bundled experiment by name, or settings that came with the request. Files are never read by path. */
import type { ExperimentSettings } from "../../core/experiment.ts";
import { applyOverrides, parseExperimentFile, SettingsError } from "../../core/schemas/index.ts";
import {
  checkEnvironments,
  checkPolicy,
  type LoadOptions,
  loadExperiment,
  overridesOf,
} from "../control/index.ts";
import { checkBrought } from "./brought.ts";

export interface SettingsRequest extends Omit<LoadOptions, "set"> {
  readonly experiment: string | Readonly<Record<string, unknown>>;
  readonly set?: readonly string[] | undefined;
}

/** As problems name the settings that came with a request. */
const SOURCE = "experiment";

const BUNDLED = /^(quickstart|evidence|frognano)$/;

function refused(field: string, found: string | null, expected: string): SettingsError {
  const kind = found === null ? "missing" : "impossible-value";
  return new SettingsError(kind, { file: SOURCE, field, line: null, found, expected });
}

function given({ experiment, set = [], ...options }: SettingsRequest): ExperimentSettings {
  try {
    const text = typeof experiment === "string" ? experiment : JSON.stringify(experiment);
    return applyOverrides(parseExperimentFile(text, SOURCE), overridesOf({ ...options, set }));
  } catch (error) {
    // Nothing that a person writes is as deep as the stack.
    if (error instanceof RangeError) throw refused("", "values nested too deep", "an experiment");
    throw error;
  }
}

interface GivenSettings {
  readonly settings: ExperimentSettings;
  /** What it is called in messages. */
  readonly source: string;
  /** Of a bundled experiment. */
  readonly defaultName: string | undefined;
}

/** Without the checks that `checkEnvironments` and `checkPolicy` make. Throws SettingsError. */
export async function readSettings(request: SettingsRequest): Promise<GivenSettings> {
  const { experiment, seed, ablation, set = [] } = request;
  const bundled = typeof experiment === "string" && BUNDLED.test(experiment);
  const loaded = bundled
    ? await loadExperiment(experiment, { set, seed, ablation })
    : { settings: given(request), defaultName: undefined };
  checkBrought(loaded.settings, SOURCE);
  return { ...loaded, source: bundled ? experiment : SOURCE };
}

/** Checked as a command line would check it. Throws SettingsError. */
export async function readStart(
  request: SettingsRequest & { readonly name?: string | undefined },
): Promise<{ readonly name: string; readonly settings: ExperimentSettings }> {
  const { settings, defaultName } = await readSettings(request);
  const name = request.name ?? defaultName;
  if (name === undefined) throw refused("name", null, "a name, since the settings have none");
  await checkEnvironments(settings, SOURCE);
  await checkPolicy(settings, SOURCE);
  return { name, settings };
}
