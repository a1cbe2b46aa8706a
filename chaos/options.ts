/** What both forms of the command read: arguments, numbers, an experiment's settings. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { UsageError } from "../apps/cli/errors.ts";
import { checkEnvironments, checkPolicy, loadExperiment } from "../apps/control/index.ts";
import type { ExperimentSettings } from "../core/experiment.ts";

/** Throws UsageError. */
export function parseOptions<T extends ParseArgsOptionsConfig>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message.split("\n")[0]!, { cause: error });
  }
}

/** Throws UsageError. */
export function wholeNumber(option: string, text: string, most: number, least = 0): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > most || value < least)
    throw new UsageError(
      `${option} ${JSON.stringify(text)}: expected a whole number from ${least} to ${most}`,
    );
  return value;
}

export async function loadSettings(source: string, set: readonly string[] = []): Promise<ExperimentSettings> {
  const { settings } = await loadExperiment(source, { set });
  await checkEnvironments(settings, source);
  await checkPolicy(settings, source);
  return settings;
}
