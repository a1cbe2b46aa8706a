/** The Docker runtime: a container per sandbox, its process 1 the command channel. */
import { mkdirSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { mountsIn, REPEATABLE_PATH, refuseUnderMounts } from "../inside.ts";
import {
  isAbandoned,
  isOwn,
  newOwner,
  ownerName,
  readLabel,
  readLife,
  sandboxName,
  takeOver,
  writeLabel,
  writeOwner,
} from "../label.ts";
import { stateOf } from "../life.ts";
import { isPastUse, isSandboxName, listFolder, namesOfSlot, notMade, renameIfThere } from "../records.ts";
import type { Sandbox, SandboxIdentity, SandboxInfo, SandboxRuntime, SandboxSpec } from "../runtime.ts";
import { makeSkeleton } from "../skeleton.ts";
import { applyToManifest } from "../tree/change.ts";
import type { Manifest } from "../tree/manifest.ts";
import { RootManifests } from "../tree/roots.ts";
import { Box, type BoxParts } from "./box.ts";
import { Channel, newKey } from "./channel.ts";
import { type Connection, connect, connectionFrom } from "./client.ts";
import {
  baseImage,
  type ContainerParts,
  type ImageParts,
  identityOf,
  LABELS,
  labelsOf,
  workdirOf,
} from "./container.ts";
import { Daemon, type ListedContainer } from "./daemon.ts";
import { ensureBaseImage } from "./image.ts";
import { KILL_MS } from "./interrupt.ts";
import { imageParts } from "./probe.ts";
import { dataIdOf, readRecord, writeRecord } from "./record.ts";
import { Semaphore } from "./semaphore.ts";
import { fillTree } from "./tree.ts";

export interface DockerRuntimeOptions {
  /** Folder of the records of all sandboxes, this runtime's alone. */
  readonly root: string;
  /** The Node that runs inside the base image. */
  readonly nodePath: string;
  /** Default: as the environment says (DOCKER_HOST and so on). */
  readonly connection?: Connection;
  /** Sandboxes that boot at a time, however many run: a storm of starts makes each of them slow. */
  readonly boots?: number;
  /** Processors of a sandbox. */
  readonly cpus?: number;
  /** Milliseconds from a signal to the end of a command, before the next means; default 30,000. */
  readonly killMs?: number;
  /** Progress of making the base image. */
  readonly say?: (line: string) => void;
}

const DEFAULT_BOOTS = 4;
const DEFAULT_CPUS = 2;

export function createDockerRuntime(options: DockerRuntimeOptions): SandboxRuntime {
  return new DockerRuntime(options);
}

/** A removal that took longer than this has failed, whosever it is: a call of the daemon ends after two minutes. */
const REMOVAL_MS = 5 * 60_000;

/** Folders put aside whose removal this process is at. */
const removals = new Set<string>();

class DockerRuntime implements SandboxRuntime {
  readonly name = "docker";
  private readonly options: DockerRuntimeOptions;
  private readonly boots: Semaphore;
  private readonly roots = new RootManifests();
  private readonly images = new Map<string, Promise<ImageParts>>();
  private reached: Daemon | undefined;
  private id: string | undefined;

  constructor(options: DockerRuntimeOptions) {
    this.options = options;
    this.boots = new Semaphore(options.boots ?? DEFAULT_BOOTS);
  }

  private get daemon(): Daemon {
    this.reached ??= new Daemon(connect(this.options.connection ?? connectionFrom()));
    return this.reached;
  }

  /** Tells this data folder's containers from another's on the same daemon. */
  private get dataId(): string {
    this.id ??= dataIdOf(this.options.root);
    return this.id;
  }

  private containerName(name: string): string {
    return `tadpole-${this.dataId}-${name}`;
  }

  async unavailable(): Promise<string | null> {
    try {
      const reason = await this.daemon.unfit();
      if (reason !== null) return reason;
      await ensureBaseImage({
        client: this.daemon.client,
        ...(this.options.say && { say: this.options.say }),
      });
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  async create(spec: SandboxSpec, identity: SandboxIdentity): Promise<Sandbox> {
    const { root } = this.options;
    mkdirSync(root, { recursive: true, mode: 0o700 });
    const base = await this.manifestOf(spec);
    refuseUnderMounts(workdirOf(spec), spec);
    const given = applyToManifest(base, spec.overlay);
    const name = sandboxName(identity);
    const folder = `${root}/${name}`;
    const staging = `${root}/${ownerName("new")}`;
    const owner = newOwner();
    await this.remove(folder);
    mkdirSync(staging, { mode: 0o700 });
    writeLabel(staging, { identity, spec });
    writeOwner(staging, owner);
    renameSync(staging, folder);
    try {
      return await this.boots.run(async () => {
        const image = await this.imageOf(spec);
        const key = newKey();
        const id = await this.daemon.create(this.containerParts(name, spec, identity, image));
        writeRecord(folder, { id, key });
        const channel = new Channel(await this.daemon.attach(id), key);
        channel.start();
        await this.daemon.start(id);
        const box = this.box({ identity, spec, folder, owner, given, container: id, channel }, image);
        await fillTree(box, spec, base, given);
        return box;
      });
    } catch (error) {
      await this.remove(folder).catch(() => {});
      throw notMade(error);
    }
  }

  private containerParts(
    name: string,
    spec: SandboxSpec,
    identity: SandboxIdentity,
    image: ImageParts,
  ): ContainerParts {
    const { root, nodePath, cpus = DEFAULT_CPUS } = this.options;
    return {
      name: this.containerName(name),
      labels: labelsOf(identity, this.dataId),
      spec,
      image,
      nodePath: realpathSync(nodePath),
      repeatablePath: realpathSync(`${makeSkeleton(root)}${REPEATABLE_PATH.replace("/usr", "")}`),
      cpus,
    };
  }

  private box(
    parts: Omit<BoxParts, "daemon" | "watchLayer" | "killMs" | "remove">,
    image: Pick<ImageParts, "ownTree" | "quota">,
  ): Box {
    const { daemon } = this;
    const { killMs = KILL_MS } = this.options;
    let aside: string | undefined;
    const remove = async () => {
      aside ??= this.putAside(parts.folder);
      if (aside !== undefined) await this.removeAside(aside, parts.container);
    };
    return new Box({ ...parts, daemon, killMs, watchLayer: image.ownTree && !image.quota, remove });
  }

  /** Looked at once per image; a failed look is repeated. */
  private imageOf(spec: SandboxSpec): Promise<ImageParts> {
    const key = JSON.stringify(spec.image ?? null);
    const known = this.images.get(key);
    if (known !== undefined) return known;
    const { client } = this.daemon;
    const found =
      spec.image === undefined
        ? ensureBaseImage({ client, ...(this.options.say && { say: this.options.say }) }).then(baseImage)
        : imageParts(client, spec.image);
    this.images.set(key, found);
    found.catch(() => this.images.delete(key));
    return found;
  }

  async adopt(
    previous: Pick<SandboxIdentity, "slot" | "fence">,
    identity: SandboxIdentity,
  ): Promise<Sandbox | undefined> {
    const { root } = this.options;
    const from = `${root}/${sandboxName(previous)}`;
    const name = sandboxName(identity);
    const label = readLabel(from);
    if (label === undefined) return undefined;
    const { spec } = label;
    const given = applyToManifest(await this.manifestOf(spec), spec.overlay);
    const taken = `${root}/${ownerName("new")}`;
    // Renamed first: from here on the former holder finds no sandbox of its own any more.
    if (!renameIfThere(from, taken)) return undefined;
    try {
      const record = readRecord(taken);
      // Its owner died before the container was made, or the container with its daemon.
      if (record === undefined || (await this.daemon.endOf(record.id)) !== undefined) {
        await this.remove(taken);
        return undefined;
      }
      const channel = await this.daemon.reattach(record.id, record.key, newKey());
      const { id } = record;
      writeRecord(taken, { id, key: channel.currentKey });
      const folder = `${root}/${name}`;
      if (folder !== from) {
        await this.remove(folder);
        await this.daemon.rename(id, this.containerName(name));
      }
      const owner = takeOver(taken, { identity, spec });
      renameSync(taken, folder);
      const image = await this.imageOf(spec);
      return this.box({ identity, spec, folder, owner, given, container: id, channel }, image);
    } catch (error) {
      await this.remove(taken).catch(() => {});
      throw notMade(error);
    }
  }

  async reap(filter: {
    readonly experiment?: string;
    readonly now: number;
    readonly graceMs?: number;
  }): Promise<number> {
    const { root } = this.options;
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
    const orphans = (await this.orphans()).filter(
      ({ labels }) => filter.experiment === undefined || labels[LABELS.experiment] === filter.experiment,
    );
    for (const { id } of orphans) await attempt(() => this.daemon.remove(id));
    // By the clock, whatever time the filter speaks of: they may be another data folder's.
    if (filter.experiment === undefined && listFolder(root).length > 0)
      await this.daemon.removeHelpers(Date.now());
    for (const name of listFolder(root)) {
      const folder = `${root}/${name}`;
      if (this.isStuck(name)) await attempt(() => this.removeAside(folder));
      else if (isAbandoned(name) || isPastUse(root, name, filter)) await attempt(() => this.remove(folder));
    }
    if (failures.length > 0) throw failures[0];
    return removed;
  }

  /** Put aside, and nobody is at its removal: that failed, or its process died. Another process's is left to it for a while. */
  private isStuck(name: string): boolean {
    const folder = `${this.options.root}/${name}`;
    if (!name.startsWith("old-") || removals.has(folder)) return false;
    if (isAbandoned(name) || isOwn(name)) return true;
    const moved = statSync(folder, { throwIfNoEntry: false })?.ctimeMs;
    return moved !== undefined && Date.now() - moved > REMOVAL_MS;
  }

  /** Containers of this data folder that no folder speaks of: what a host that lost its files left behind. */
  private async orphans() {
    const { root } = this.options;
    const containers = await this.listed();
    const names = listFolder(root);
    const known = new Set(names.flatMap((name) => readRecord(`${root}/${name}`)?.id ?? []));
    const named = new Set(names.map((name) => this.containerName(name)));
    return containers.filter(({ id, name }) => !known.has(id) && !named.has(name));
  }

  /** A host whose folder is empty or gone may have lost it; one that never had any need not have a daemon either. */
  private async listed(): Promise<readonly ListedContainer[]> {
    try {
      return await this.daemon.list(this.dataId);
    } catch (error) {
      if (listFolder(this.options.root).length === 0) return [];
      throw error;
    }
  }

  async list(now: number): Promise<readonly SandboxInfo[]> {
    const { root } = this.options;
    const held = listFolder(root).flatMap((name): SandboxInfo[] => {
      const folder = `${root}/${name}`;
      const isStuck = this.isStuck(name);
      const identity = isStuck || isSandboxName(name) ? readLabel(folder)?.identity : undefined;
      const made = statSync(folder, { throwIfNoEntry: false });
      if (identity === undefined || made === undefined) return [];
      const found = stateOf(readLife(folder, identity), now);
      const state = isStuck && found === "live" ? "orphaned" : found;
      return [{ name, runtime: this.name, identity, created: Math.round(made.birthtimeMs), state }];
    });
    const orphans = (await this.orphans()).flatMap(({ name, labels, created }): SandboxInfo[] => {
      const identity = identityOf(labels);
      if (identity === undefined) return [];
      const state = identity.deadline < now ? "expired" : "orphaned";
      return [{ name, runtime: this.name, identity, created, state }];
    });
    return [...held, ...orphans];
  }

  async removeSlot(slot: Pick<SandboxIdentity, "experiment" | "slot">, keep?: string): Promise<number> {
    const { root } = this.options;
    const names = namesOfSlot(root, slot, keep);
    for (const name of names) await this.remove(`${root}/${name}`);
    const stuck = listFolder(root).filter((name) => {
      const identity = this.isStuck(name) ? readLabel(`${root}/${name}`)?.identity : undefined;
      return identity?.slot === slot.slot && identity.experiment === slot.experiment;
    });
    for (const name of stuck) await this.removeAside(`${root}/${name}`);
    return names.length + stuck.length;
  }

  private manifestOf(spec: SandboxSpec): Promise<Manifest> {
    return this.roots.of(spec.root, mountsIn(workdirOf(spec), spec.mounts));
  }

  private async remove(folder: string): Promise<void> {
    const name = folder.slice(folder.lastIndexOf("/") + 1);
    const aside = this.putAside(folder);
    // Without a record its maker died between making the container and noting it down: then it has the folder's name.
    if (aside !== undefined)
      await this.removeAside(aside, isSandboxName(name) ? this.containerName(name) : undefined);
  }

  /** The folder out of sight first, so that a half-removed sandbox is never found. Undefined where there is none. */
  private putAside(folder: string): string | undefined {
    const aside = `${this.options.root}/${ownerName("old")}`;
    return renameIfThere(folder, aside) ? aside : undefined;
  }

  /** The container, then the folder's files: a reap that finds the folder tries again. */
  private async removeAside(aside: string, container?: string): Promise<void> {
    removals.add(aside);
    try {
      const id = readRecord(aside)?.id ?? container;
      if (id !== undefined) await this.daemon.remove(id);
      rmSync(aside, { recursive: true, force: true });
    } finally {
      removals.delete(aside);
    }
  }
}
