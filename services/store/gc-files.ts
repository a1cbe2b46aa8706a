/** The files of a collection: which go, and how they go. */
import { sql } from "kysely";
import type { ArtifactInventory, StoredFile } from "./artifact-folder.ts";
import { type Plan, planCollection, type Retention, type Surroundings } from "./gc-plan.ts";
import { type Amount, inSnapshot, sum } from "./gc-rows.ts";
import { chooseFiles, type FileChoice, type Node } from "./gc-select.ts";
import type { Executor } from "./rows.ts";

const SHOWN_MISSING = 10;
/** Rows of artifacts that go in one statement, and files between two reports of progress. */
const CHUNK = 500;

export interface GcProgress {
  readonly phase: "rows" | "experiments" | "take out" | "remove";
  readonly done: number;
  readonly total: number;
}

export interface FileOptions extends Retention {
  /** Also files that are in no row of this record. */
  readonly unrecorded: boolean;
  /** Asked anew before every step. */
  readonly surroundings: () => Promise<Surroundings>;
  readonly onProgress?: (progress: GcProgress) => void;
}

export const amount = (files: readonly StoredFile[]): Amount =>
  sum(files.map(({ bytes }) => ({ items: 1, bytes })));

export interface FolderPlan extends FileChoice<StoredFile> {
  /** Taken out by an earlier collection: what of it goes, and what comes back. */
  readonly removing: readonly StoredFile[];
  readonly comingBack: readonly StoredFile[];
  /** Rows of artifacts that are not there and that nothing names. */
  readonly emptyRows: readonly string[];
  /** Named, and not there: the first few with what names them. */
  readonly missing: {
    readonly items: number;
    readonly first: readonly { readonly sha256: string; readonly namedBy: string }[];
  };
  readonly unknown: readonly string[];
}

export async function chooseFrom(
  tx: Executor,
  inventory: ArtifactInventory,
  { named, filesBeforeMs, record }: Plan,
  { unrecorded }: Pick<FileOptions, "unrecorded">,
  around: Surroundings,
): Promise<FolderPlan> {
  const beforeMs = inventory.atomic || isQuiet(around) ? filesBeforeMs : Number.NEGATIVE_INFINITY;
  // Rows first: a file that is put in between has no row here, and is young.
  const { rows } = await sql<{ sha256: string; old: boolean }>`
    select sha256, created_at < to_timestamp(${filesBeforeMs / 1000}::float8) as old from artifacts`.execute(
    tx,
  );
  const recorded = new Set(rows.map(({ sha256 }) => sha256));
  const content = await inventory.list();
  const found = chooseFiles(content.files, { named, recorded, beforeMs });
  const taken = chooseFiles(content.removing, { named, recorded, beforeMs });
  // Whatever an earlier collection took out and recorded rows no longer hold was on its way out.
  const removing = [...taken.remove, ...taken.unrecorded];
  const there = new Set([...content.files, ...content.removing].map(({ sha256 }) => sha256));
  return {
    remove: unrecorded ? [...found.remove, ...found.unrecorded] : found.remove,
    wait: found.wait,
    unrecorded: unrecorded ? [] : found.unrecorded,
    removing,
    comingBack: content.removing.filter((file) => !removing.includes(file)),
    emptyRows: rows
      .filter(({ sha256, old }) => old && !there.has(sha256) && !named.has(`artifact/${sha256}`))
      .map(({ sha256 }) => sha256),
    missing: missingOf(named, there, record.edges),
    unknown: content.unknown,
  };
}

const isQuiet = ({ live, sinceMs }: Surroundings): boolean => live.length === 0 && sinceMs === null;

function missingOf(
  named: ReadonlySet<Node>,
  there: ReadonlySet<string>,
  edges: Plan["record"]["edges"],
): FolderPlan["missing"] {
  const gone = [...named]
    .filter((node) => node.startsWith("artifact/") && !there.has(node.slice("artifact/".length)))
    .sort();
  return {
    items: gone.length,
    first: gone.slice(0, SHOWN_MISSING).map((node) => ({
      sha256: node.slice("artifact/".length),
      namedBy: [...edges].find(([owner, names]) => named.has(owner) && names.has(node))![0],
    })),
  };
}

/** Takes files out, looks at the record once more, then removes for good what is still unnamed. */
export async function removeFiles(
  db: Executor,
  inventory: ArtifactInventory,
  options: FileOptions,
): Promise<{ readonly removed: Amount; readonly files: FolderPlan }> {
  const { onProgress = () => {}, surroundings } = options;
  const around = await surroundings();
  const { files, plan } = await inSnapshot(db, async (tx) => {
    const plan = await planCollection(tx, options, around);
    return { plan, files: await chooseFrom(tx, inventory, plan, options, around) };
  });
  for (const { sha256 } of files.comingBack) await inventory.bringBack(sha256);
  const out = [...files.removing];
  for (const [done, file] of files.remove.entries()) {
    if (done % CHUNK === 0) onProgress({ phase: "take out", done, total: files.remove.length });
    if (await inventory.takeOut(file.sha256, plan.filesBeforeMs)) out.push(file);
  }
  const now = await surroundings();
  const { named } = await inSnapshot(db, (tx) => planCollection(tx, options, now));
  const stays = ({ sha256 }: StoredFile) =>
    named.has(`artifact/${sha256}`) || !(inventory.atomic || isQuiet(now));
  for (const { sha256 } of out.filter(stays)) await inventory.bringBack(sha256);
  const gone = out.filter((file) => !stays(file));
  for (let done = 0; done < gone.length; done += CHUNK) {
    onProgress({ phase: "remove", done, total: gone.length });
    const chunk = gone.slice(done, done + CHUNK);
    await dropRows(
      db,
      inventory,
      chunk.map(({ sha256 }) => sha256),
    );
    for (const { sha256 } of chunk) await inventory.removeTakenOut(sha256);
  }
  await dropRows(db, inventory, files.emptyRows);
  return { removed: amount(gone), files };
}

/** Deletes rows of artifacts; one whose content was put again meanwhile gets its row back. */
async function dropRows(
  db: Executor,
  inventory: ArtifactInventory,
  sha256s: readonly string[],
): Promise<void> {
  if (sha256s.length === 0) return;
  const dropped = await db
    .deleteFrom("artifacts")
    .where("sha256", "in", [...sha256s])
    .returning(["sha256", "kind", "bytes", "uri"])
    .execute();
  const there = await Promise.all(dropped.map(({ sha256 }) => inventory.isStored(sha256)));
  const back = dropped.filter((_, index) => there[index]);
  if (back.length > 0)
    await db
      .insertInto("artifacts")
      .values(back)
      .onConflict((conflict) => conflict.column("sha256").doNothing())
      .execute();
}
