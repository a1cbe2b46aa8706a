/** All sandboxes of a data folder, by their folders and by the daemon's labels: listed, and removed where nobody may go on in them. */
import { isAbandoned, readIdentity } from "../label.ts";
import { infoOf, isPastUse, isSandboxName, listFolder, namesOfSlot } from "../records.ts";
import type { SandboxIdentity, SandboxInfo } from "../runtime.ts";
import { identityOf, LABELS } from "./container.ts";
import type { ListedContainer } from "./daemon.ts";
import type { Place } from "./place.ts";
import { readRecord } from "./record.ts";
import { isStuck, removeAside, removeSandbox } from "./removal.ts";

/** How many were removed. Throws the first failure once everything was tried. */
export async function reapSandboxes(
  place: Place,
  filter: { readonly experiment?: string; readonly now: number; readonly graceMs?: number },
): Promise<number> {
  const { root } = place;
  const failures: unknown[] = [];
  let removed = 0;
  // What cannot be removed keeps nothing else from it.
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
      removed++;
    } catch (error) {
      failures.push(error);
    }
  };
  const lost = (await orphans(place)).filter(
    ({ labels }) => filter.experiment === undefined || labels[LABELS.experiment] === filter.experiment,
  );
  for (const { id } of lost) await attempt(() => place.daemon.remove(id));
  // By the clock, whatever time the filter speaks of: they may be another data folder's.
  if (filter.experiment === undefined && listFolder(root).length > 0)
    await place.daemon.removeHelpers(Date.now());
  for (const name of listFolder(root)) {
    const folder = `${root}/${name}`;
    if (isStuck(place, name)) await attempt(() => removeAside(place, folder));
    else if (isAbandoned(name) || isPastUse(root, name, filter))
      await attempt(() => removeSandbox(place, folder));
  }
  if (failures.length > 0) throw failures[0];
  return removed;
}

export async function listSandboxes(
  place: Place,
  runtime: SandboxInfo["runtime"],
  now: number,
): Promise<readonly SandboxInfo[]> {
  const { root } = place;
  const held = listFolder(root).flatMap((name): SandboxInfo[] => {
    const stuck = isStuck(place, name);
    const info = stuck || isSandboxName(name) ? infoOf(root, name, runtime, now) : undefined;
    if (info === undefined) return [];
    return [stuck && info.state === "live" ? { ...info, state: "orphaned" } : info];
  });
  const lost = (await orphans(place)).flatMap(({ name, labels, created }): SandboxInfo[] => {
    const identity = identityOf(labels);
    if (identity === undefined) return [];
    const state = identity.deadline < now ? "expired" : "orphaned";
    return [{ name, runtime, identity, created, state }];
  });
  return [...held, ...lost];
}

/** Every sandbox of a slot but that of the fence `keep`; how many. */
export async function removeSlotSandboxes(
  place: Place,
  slot: Pick<SandboxIdentity, "experiment" | "slot">,
  keep?: string,
): Promise<number> {
  const { root } = place;
  const names = namesOfSlot(root, slot, keep);
  for (const name of names) await removeSandbox(place, `${root}/${name}`);
  const stuck = listFolder(root).filter((name) => {
    const identity = isStuck(place, name) ? readIdentity(`${root}/${name}`) : undefined;
    return identity?.slot === slot.slot && identity.experiment === slot.experiment;
  });
  for (const name of stuck) await removeAside(place, `${root}/${name}`);
  return names.length + stuck.length;
}

/** Containers of this data folder that no folder speaks of: what a host that lost its files left behind. */
async function orphans(place: Place) {
  const { root } = place;
  const containers = await listed(place);
  const names = listFolder(root);
  const known = new Set(names.flatMap((name) => readRecord(`${root}/${name}`)?.id ?? []));
  const named = new Set(names.map((name) => place.containerName(name)));
  return containers.filter(({ id, name }) => !known.has(id) && !named.has(name));
}

/** A host whose folder is empty or gone may have lost it; one that never had any need not have a daemon either. */
async function listed(place: Place): Promise<readonly ListedContainer[]> {
  try {
    return await place.daemon.list(place.dataId);
  } catch (error) {
    if (listFolder(place.root).length === 0) return [];
    throw error;
  }
}
