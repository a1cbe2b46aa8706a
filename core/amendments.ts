/** What a request to amend comes to, and why it may be refused: the settings that follow from it must fit as a file's must. */
import { checkSettings } from "./consistency.ts";
import type { ExperimentSettings } from "./experiment.ts";
import {
  AMENDABLE,
  type Amendment,
  type AmendRequest,
  amendmentProblem,
  pinnedSettings,
  settingAt,
} from "./steering.ts";

/** An experiment's settings as its file has them, and what was amended since, in order. */
export interface AmendedSettings {
  readonly settings: ExperimentSettings;
  readonly amendments: readonly Amendment[];
}

/** Where an experiment stands when it is asked for an amendment. */
export interface Moment {
  /** The one that runs; 0 before the first. */
  readonly iteration: number;
  /** The last one whose input is pinned: it may be about to begin, or have failed and be taken up again. */
  readonly pinned: number;
}

/** From when on a request holds, and the value that is in force there without it. */
export function amendmentOf(
  { settings, amendments }: AmendedSettings,
  { request, path, value }: AmendRequest,
  { iteration, pinned }: Moment,
): Amendment {
  const fromIteration = AMENDABLE[path]?.atOnce ? iteration : pinned + 1;
  const old = (settingAt(pinnedSettings(settings, amendments, fromIteration), path) ??
    null) as Amendment["old"];
  return { request, path, value, old, fromIteration };
}

/**
 * Why the request cannot be met: one sentence that names the field and what was expected of it; null when it can. The settings are checked as a whole
 * in every iteration from the amendment's first on, also in those that `iterations` leaves out: it may be raised later.
 */
export function amendmentRefusal(amended: AmendedSettings, request: AmendRequest, at: Moment): string | null {
  const problem = amendmentProblem(request.path, request.value);
  if (problem !== null) return problem;
  const { settings } = amended;
  const { fromIteration: first, ...amendment } = amendmentOf(amended, request, at);
  const amendments = [...amended.amendments, { ...amendment, fromIteration: first }];
  // Between two of these no setting changes.
  const changes = [...settings.overrides, ...amendments].map(({ fromIteration }) => fromIteration);
  for (const from of [...new Set(changes)].filter((from) => from >= first).sort((a, b) => a - b)) {
    const inForce = pinnedSettings(settings, amendments, from);
    const [found] = checkSettings(inForce);
    if (found === undefined) continue;
    const field = found.path.join(".");
    return `${field}: expected ${found.expected}, found ${JSON.stringify(settingAt(inForce, field))} in iteration ${from}`;
  }
  return null;
}
