/** What a replay makes anew: from the settings it overrides and the phase it starts from, without looking at any record (docs/replay.md). */
import { mayReuse, mayReuseGroup, type ReplayPhase, type Reuse } from "./reuse.ts";

/** Everything an iteration finishes and a later try may take over, in the order in which one follows from another. */
export const PIECES = [
  "candidates",
  "validations",
  "probe rollouts",
  "probe verdicts",
  "climb rollouts",
  "climb verdicts",
  "updates",
  "selection rollouts",
  "selection verdicts",
] as const;
export type Piece = (typeof PIECES)[number];

/** The phase by which a piece is re-used or made anew; `select` follows all five. */
export const PHASE_OF: Readonly<Record<Piece, ReplayPhase | "select">> = {
  candidates: "synthesise",
  validations: "synthesise",
  "probe rollouts": "filter",
  "probe verdicts": "filter",
  "climb rollouts": "rollout",
  "climb verdicts": "verify",
  updates: "update",
  "selection rollouts": "select",
  "selection verdicts": "select",
};

/** `later`: only what depends on a policy that an update of this try makes. */
export type Extent = "none" | "later" | "all";

/**
 * By setting, the first pieces that come out otherwise, and how many of them; null = none of those that are finished. The longest
 * prefix of a path counts. A setting that is not here is nothing an iteration reads: it is pinned apart, or belongs to the whole experiment.
 */
const EFFECTS: Readonly<Record<string, readonly [Piece, Exclude<Extent, "none">] | null>> = {
  seed: ["candidates", "all"],
  "synthesis.mix": ["candidates", "all"],
  "synthesis.types": ["candidates", "all"],
  "synthesis.history": ["candidates", "all"],
  "synthesis.author": ["candidates", "all"],
  "synthesis.heldOutShare": ["candidates", "all"],
  "synthesis.startLevel": ["validations", "all"],
  "synthesis.stabilityRuns": ["validations", "all"],
  "synthesis.poolTasks": ["climb rollouts", "all"],
  "synthesis.maxCandidates": ["climb rollouts", "all"],
  "synthesis.perFunctionCap": ["climb rollouts", "all"],
  "synthesis.caps": ["climb rollouts", "all"],
  "synthesis.gates": ["validations", "all"],
  "synthesis.minLevel": ["climb rollouts", "all"],
  "synthesis.maxLevel": ["climb rollouts", "all"],
  filter: ["climb rollouts", "all"],
  "rollout.limits": ["probe rollouts", "all"],
  "rollout.sampling": ["probe rollouts", "all"],
  grading: ["probe verdicts", "all"],
  reward: ["updates", "all"],
  "climb.updates": null,
  "climb.tasksPerBatch": ["climb rollouts", "all"],
  "climb.groupSize": ["updates", "all"],
  "climb.maxLag": ["climb rollouts", "later"],
  "climb.groups": ["climb rollouts", "all"],
  "climb.rolloutBudget": null,
  budget: null,
  prices: null,
  advantage: ["updates", "all"],
  loss: ["updates", "all"],
  optimizer: ["updates", "all"],
  "selection.everyUpdates": null,
  "selection.set.samplesPerTask": null,
  "evaluation.sampling": ["selection rollouts", "all"],
  "evaluation.seed": ["selection rollouts", "all"],
  "policy.baseUrl": null,
  "policy.model": null,
  "policy.apiKeyEnv": null,
  sandbox: null,
  concurrency: null,
};

function effectOf(path: string): (typeof EFFECTS)[string] | undefined {
  const parts = path.split(".");
  for (let length = parts.length; length > 0; length--) {
    const prefix = parts.slice(0, length).join(".");
    if (Object.hasOwn(EFFECTS, prefix)) return EFFECTS[prefix];
  }
  return undefined;
}

/** Settings that a replay may override. */
export const REPLAYABLE: readonly string[] = Object.keys(EFFECTS);

export function isReplayable(path: string): boolean {
  return effectOf(path) !== undefined;
}

const EXTENTS: readonly Extent[] = ["none", "later", "all"];
const wider = (a: Extent, b: Extent): Extent => (EXTENTS.indexOf(a) >= EXTENTS.indexOf(b) ? a : b);

/** What changed pieces change: an update's policy takes part in nothing before the rollouts of later updates, then in selection. */
function followed(changed: Map<Piece, Extent>): void {
  const widen = (piece: Piece, extent: Extent) =>
    changed.set(piece, wider(changed.get(piece) ?? "none", extent));
  const climbing = PIECES.indexOf("updates");
  for (let i = 1; i <= climbing; i++) widen(PIECES[i]!, changed.get(PIECES[i - 1]!) ?? "none");
  if (changed.get("updates") !== "none") {
    widen("climb rollouts", "later");
    widen("climb verdicts", "later");
    widen("selection rollouts", "all");
  }
  widen("selection verdicts", changed.get("selection rollouts") ?? "none");
}

/**
 * How much of each kind of piece is made anew. Pieces of `from` and later phases are, whatever they come out as; earlier ones where an overridden
 * setting changes what determines them. A piece made anew from the same input comes out the same, so it alone changes nothing after it.
 */
export function remade(paths: readonly string[], from: ReplayPhase | null): Readonly<Record<Piece, Extent>> {
  const changed = new Map<Piece, Extent>(PIECES.map((piece) => [piece, "none"]));
  for (const path of paths) {
    const effect = effectOf(path);
    if (effect != null) changed.set(effect[0], wider(changed.get(effect[0])!, effect[1]));
    // Grading is also what checkpoints are selected by.
    if (effect?.[0] === "probe verdicts") changed.set("selection verdicts", "all");
    if (effect?.[0] === "probe rollouts") changed.set("selection rollouts", "all");
  }
  followed(changed);
  const reuse: Reuse = { from };
  const may = (piece: Piece): boolean => {
    const phase = PHASE_OF[piece];
    return phase === "select" ? mayReuseGroup(reuse, "evaluate", "rollout") : mayReuse(reuse, phase);
  };
  return Object.fromEntries(
    PIECES.map((piece) => [piece, may(piece) ? changed.get(piece)! : "all"]),
  ) as Record<Piece, Extent>;
}
