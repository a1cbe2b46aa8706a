/** Finds a task's reproduction: proposals from the recordings, sifted by one batch, believed after a run of the command alone. */
import { composeChanges } from "../../core/changes.ts";
import type { FileChange, Reproduction } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { type Recorder, recorderOf } from "./recorders.ts";
import { agreeing, type SettledCall, settled } from "./recording.ts";
import { type Proposal, proposalsFor, quotable } from "./reproduction.ts";
import { runCommand, type TrialParts, tryCalls } from "./trials.ts";
import type { Candidate } from "./types.ts";

/** Calls of one process. A process's command line holds 128 KiB, a call at most 300 characters. */
const BATCH = 200;
/** Sifted proposals whose command is run alone before the search gives up. */
const MAX_RUNS = 3;

export interface ReproductionRequest {
  readonly environment: PreparedEnvironment;
  readonly candidate: Candidate;
  readonly failToPass: readonly string[];
  readonly hiddenFiles: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

type Settled = ReadonlyMap<string, readonly SettledCall[]>;

export type Found = { readonly reproduction: Reproduction } | { readonly none: string };

/** Keeps the recordings of the environments it has seen: the solved tree is the same for all their tasks. */
export class Reproducer {
  private readonly parts: TrialParts;
  private readonly recordings = new Map<string, Promise<Settled>>();

  constructor(parts: TrialParts) {
    this.parts = parts;
  }

  private recording(recorder: Recorder, environment: PreparedEnvironment, unit: string): Promise<Settled> {
    const key = `${environment.key} ${unit}`;
    const known = this.recordings.get(key);
    if (known !== undefined) return known;
    const made = this.make(recorder, environment, unit);
    this.recordings.set(key, made);
    made.catch(() => this.recordings.delete(key));
    return made;
  }

  /** The calls that a second recording agrees on and that print the same alone, away from their test and its variables. */
  private async make(recorder: Recorder, environment: PreparedEnvironment, unit: string): Promise<Settled> {
    const request = { environment, overlay: [] };
    const first = await recorder.record(this.parts, request, unit);
    const recording = agreeing(first, await recorder.record(this.parts, request, unit));
    const calls = [...new Set([...recording.values()].flat().map(({ code }) => code))];
    const alone = new Map<string, string | undefined>();
    for (let start = 0; start < calls.length; start += BATCH) {
      const batch = calls.slice(start, start + BATCH);
      const printed = await tryCalls(this.parts, request, recorder.dialect, batch);
      for (const [i, code] of batch.entries()) alone.set(code, printed[i]);
    }
    return settled(recording, alone);
  }

  async find(request: ReproductionRequest): Promise<Found> {
    const recorder = recorderOf(request.environment);
    if (recorder === null)
      return { none: `calls under ${request.environment.entry.framework} are not recorded` };
    const recordings: Settled[] = [];
    for (const unit of recorder.units(request.environment, request.hiddenFiles))
      recordings.push(await this.recording(recorder, request.environment, unit));
    const proposals = proposalsFor(recordings, request.failToPass);
    if (proposals.length === 0)
      return { none: "no failing assertion looks at a call that can be written down" };
    const choices = await this.sift(recorder, request, proposals);
    if (choices.length === 0)
      return { none: `none of ${proposals.length} calls prints anything else on the base tree` };
    let reason = "";
    for (const choice of choices.slice(0, MAX_RUNS)) {
      const found = await this.confirm(recorder, request, choice);
      if ("reproduction" in found) return found;
      reason = found.none;
    }
    return { none: reason };
  }

  /** Proposals that show the mistake, best first; for a combination, one of each part alone where there are such. */
  private async sift(
    recorder: Recorder,
    request: ReproductionRequest,
    proposals: readonly Proposal[],
  ): Promise<readonly Proposal[][]> {
    const { environment, candidate, signal } = request;
    const calls = proposals.map(({ call }) => call.code);
    const differing = async (overlay: readonly FileChange[]) => {
      const printed = await tryCalls(this.parts, { environment, overlay, signal }, recorder.dialect, calls);
      return new Set(
        proposals.filter(({ call }, i) => printed[i] !== undefined && printed[i] !== call.printed),
      );
    };
    const onBase = await differing(candidate.base);
    const shown = proposals.filter((proposal) => onBase.has(proposal));
    const single = shown.map((proposal) => [proposal]);
    if (candidate.parts === undefined) return single;
    const onParts: ReadonlySet<Proposal>[] = [];
    for (const part of candidate.parts) onParts.push(await differing(part));
    const firsts = onParts.flatMap((own, i) => {
      const others = onParts.filter((_, j) => j !== i);
      return (
        shown.find((proposal) => own.has(proposal) && !others.some((other) => other.has(proposal))) ?? []
      );
    });
    return firsts.length > 1 ? [firsts, ...single] : single;
  }

  /** Runs the command on the tree the agent gets and on the solved one. */
  private async confirm(
    recorder: Recorder,
    request: ReproductionRequest,
    choice: readonly Proposal[],
  ): Promise<Found> {
    const { environment, candidate, hiddenFiles, signal } = request;
    const { code, command } = recorder.dialect.reproduction(choice.map(({ call }) => call.code));
    const hidden = hiddenFiles.map((path): FileChange => ({ kind: "delete", path }));
    const run = async (tree: readonly FileChange[]) => {
      const overlay = composeChanges(tree, hidden);
      const result = await runCommand(this.parts, { environment, overlay, signal }, command);
      return result.exitCode === 0 ? quotable(result.stdout, choice.length) : null;
    };
    const expected = await run([]);
    if (expected !== choice.map(({ call }) => call.printed).join("\n"))
      return { none: `alone, the call prints something else on the solved tree: ${command}` };
    const actual = await run(candidate.base);
    if (actual === null || actual === expected)
      return { none: `alone, the call shows nothing wrong on the base tree: ${command}` };
    // A statement must read the same whenever it is written.
    if ((await run(candidate.base)) !== actual)
      return { none: `the call prints something else each time on the base tree: ${command}` };
    return { reproduction: { code, command, actual, expected, assertion: choice[0]!.assertion } };
  }
}
