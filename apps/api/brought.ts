/** What settings that came over HTTP may not name: secrets and files of the machine that runs them. Whoever may start experiments need not own it. */
import type { ExperimentSettings } from "../../core/experiment.ts";
import { SettingsError } from "../../core/schemas/index.ts";
import { isPinnedBenchmark } from "../control/index.ts";

const refused = (file: string, field: string, found: string, expected: string): SettingsError =>
  new SettingsError("impossible-value", { file, field, line: null, found, expected });

/** A key goes to whatever URL the settings name beside it. */
function checkKey(file: string, field: string, name: string | null | undefined, prefix: string): void {
  if (name != null && !name.startsWith(prefix))
    throw refused(file, field, name, `over HTTP, a name that begins with ${prefix}`);
}

/** `brings`: which settings came with the request, by dotted path; absent = all. Throws SettingsError. */
export function checkBrought(
  { policy, synthesis }: ExperimentSettings,
  file: string,
  brings: (path: string) => boolean = () => true,
): void {
  if (brings("policy")) checkKey(file, "policy.apiKeyEnv", policy.apiKeyEnv, "POLICY_");
  if (brings("synthesis.author"))
    checkKey(file, "synthesis.author.apiKeyEnv", synthesis.author?.apiKeyEnv, "AUTHOR_");
  if (!brings("synthesis.gates")) return;
  const path = synthesis.gates?.decontaminate.find((one) => !isPinnedBenchmark(one));
  if (path !== undefined)
    throw refused(
      file,
      "synthesis.gates.decontaminate",
      path,
      "over HTTP, artifact:<sha256>: files are never read by path",
    );
}

/** Of a replay: settings that it does not touch are those of whoever started the experiment. */
export function broughtBy(assignments: readonly string[]): (path: string) => boolean {
  const paths = assignments.map((one) => one.split("=", 1)[0]!.trim());
  return (path) =>
    paths.some((one) => one === path || one.startsWith(`${path}.`) || path.startsWith(`${one}.`));
}
