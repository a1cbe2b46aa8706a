/** What garbage collection may remove, decided on names and times alone: whatever something kept names, directly or through others, stays. */

/** `<kind>/<id>`: an experiment by its name, a policy, task, set, import or artifact by its id. */
export type Node = `${"experiment" | "policy" | "task" | "set" | "import" | "artifact"}/${string}`;
export type Edges = ReadonlyMap<Node, ReadonlySet<Node>>;

/** Everything the roots name, the roots themselves included. */
export function reachable(edges: Edges, roots: Iterable<Node>): Set<Node> {
  const found = new Set(roots);
  // A set is walked in the order of its growth.
  for (const node of found) for (const named of edges.get(node) ?? []) found.add(named);
  return found;
}

export interface ExperimentAge {
  readonly name: string;
  /** When it ended, or was last measured; null while it runs or is held. */
  readonly endedMs: number | null;
}

/**
 * Experiments that ended before `beforeMs` and that no other one needs: neither is named by one that stays, nor by `pinned`. Those that only name
 * each other go together.
 */
export function expiredExperiments(
  experiments: readonly ExperimentAge[],
  edges: Edges,
  { beforeMs, pinned }: { readonly beforeMs: number; readonly pinned: ReadonlySet<string> },
): string[] {
  const isOld = ({ endedMs }: ExperimentAge) => endedMs !== null && endedMs < beforeMs;
  const staying = experiments.filter((experiment) => !isOld(experiment) || pinned.has(experiment.name));
  const kept = reachable(
    edges,
    staying.map(({ name }): Node => `experiment/${name}`),
  );
  return experiments.map(({ name }) => name).filter((name) => !kept.has(`experiment/${name}`));
}

/** Of things that several experiments may share (id -> time of its row): those that nothing kept names and that are old enough. */
export function unnamed(
  shared: ReadonlyMap<Node, number>,
  named: ReadonlySet<Node>,
  beforeMs: number,
): Node[] {
  return [...shared].filter(([node, at]) => !named.has(node) && at < beforeMs).map(([node]) => node);
}

export interface FileChoice<File> {
  readonly remove: readonly File[];
  /** Unnamed, but too young: somebody may be about to record what names them. */
  readonly wait: readonly File[];
  /** Unnamed, and in no row of this record: another database may name them. */
  readonly unrecorded: readonly File[];
}

export function chooseFiles<File extends { readonly sha256: string; readonly modifiedMs: number }>(
  files: readonly File[],
  {
    named,
    recorded,
    beforeMs,
  }: { readonly named: ReadonlySet<Node>; readonly recorded: ReadonlySet<string>; readonly beforeMs: number },
): FileChoice<File> {
  const free = files.filter(({ sha256 }) => !named.has(`artifact/${sha256}`));
  const [young, old] = [true, false].map((wanted) =>
    free.filter(({ modifiedMs }) => modifiedMs >= beforeMs === wanted),
  ) as [File[], File[]];
  return {
    remove: old.filter(({ sha256 }) => recorded.has(sha256)),
    wait: young,
    unrecorded: old.filter(({ sha256 }) => !recorded.has(sha256)),
  };
}
