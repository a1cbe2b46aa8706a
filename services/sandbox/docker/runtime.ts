/** The Docker runtime: a container per sandbox, its process 1 the command channel. */
import { mkdirSync, realpathSync, renameSync } from "node:fs";
import { mountsIn, REPEATABLE_PATH, refuseUnderMounts } from "../inside.ts";
import { newOwner, ownerName, readLabel, sandboxName, takeOver, writeLabel, writeOwner } from "../label.ts";
import { notMade, renameIfThere } from "../records.ts";
import type { Sandbox, SandboxIdentity, SandboxInfo, SandboxRuntime, SandboxSpec } from "../runtime.ts";
import { makeSkeleton } from "../skeleton.ts";
import { applyToManifest } from "../tree/change.ts";
import type { Manifest } from "../tree/manifest.ts";
import { RootManifests } from "../tree/roots.ts";
import { Box, type BoxParts } from "./box.ts";
import { Channel, newKey } from "./channel.ts";
import type { Connection } from "./client.ts";
import { baseImage, type ContainerParts, type ImageParts, labelsOf, workdirOf } from "./container.ts";
import { ensureBaseImage } from "./image.ts";
import { KILL_MS } from "./interrupt.ts";
import { Place } from "./place.ts";
import { imageParts } from "./probe.ts";
import { listSandboxes, reapSandboxes, removeSlotSandboxes } from "./reap.ts";
import { readRecord, writeRecord } from "./record.ts";
import { putAside, removeAside, removeSandbox } from "./removal.ts";
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

class DockerRuntime implements SandboxRuntime {
  readonly name = "docker";
  private readonly options: DockerRuntimeOptions;
  private readonly boots: Semaphore;
  private readonly roots = new RootManifests();
  private readonly images = new Map<string, Promise<ImageParts>>();
  private readonly place: Place;

  constructor(options: DockerRuntimeOptions) {
    this.options = options;
    this.place = new Place(options.root, options.connection);
    this.boots = new Semaphore(options.boots ?? DEFAULT_BOOTS);
  }

  async unavailable(): Promise<string | null> {
    try {
      const reason = await this.place.daemon.unfit();
      if (reason !== null) return reason;
      await ensureBaseImage({
        client: this.place.daemon.client,
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
    await removeSandbox(this.place, folder);
    mkdirSync(staging, { mode: 0o700 });
    writeLabel(staging, { identity, spec });
    writeOwner(staging, owner);
    renameSync(staging, folder);
    try {
      return await this.boots.run(async () => {
        const image = await this.imageOf(spec);
        const key = newKey();
        const id = await this.place.daemon.create(this.containerParts(name, spec, identity, image));
        writeRecord(folder, { id, key });
        const channel = new Channel(await this.place.daemon.attach(id), key);
        channel.start();
        await this.place.daemon.start(id);
        const box = this.box({ identity, spec, folder, owner, given, container: id, channel }, image);
        await fillTree(box, spec, base, given);
        return box;
      });
    } catch (error) {
      await removeSandbox(this.place, folder).catch(() => {});
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
      name: this.place.containerName(name),
      labels: labelsOf(identity, this.place.dataId),
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
    const { place } = this;
    const { daemon } = place;
    const { killMs = KILL_MS } = this.options;
    let aside: string | undefined;
    const remove = async () => {
      aside ??= putAside(place, parts.folder);
      if (aside !== undefined) await removeAside(place, aside, parts.container);
    };
    return new Box({ ...parts, daemon, killMs, watchLayer: image.ownTree && !image.quota, remove });
  }

  /** Looked at once per image; a failed look is repeated. */
  private imageOf(spec: SandboxSpec): Promise<ImageParts> {
    const key = JSON.stringify(spec.image ?? null);
    const known = this.images.get(key);
    if (known !== undefined) return known;
    const { client } = this.place.daemon;
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
      if (record === undefined || (await this.place.daemon.endOf(record.id)) !== undefined) {
        await removeSandbox(this.place, taken);
        return undefined;
      }
      const channel = await this.place.daemon.reattach(record.id, record.key, newKey());
      const { id } = record;
      writeRecord(taken, { id, key: channel.currentKey });
      const folder = `${root}/${name}`;
      if (folder !== from) {
        await removeSandbox(this.place, folder);
        await this.place.daemon.rename(id, this.place.containerName(name));
      }
      const owner = takeOver(taken, { identity, spec });
      renameSync(taken, folder);
      const image = await this.imageOf(spec);
      return this.box({ identity, spec, folder, owner, given, container: id, channel }, image);
    } catch (error) {
      await removeSandbox(this.place, taken).catch(() => {});
      throw notMade(error);
    }
  }

  reap(filter: {
    readonly experiment?: string;
    readonly now: number;
    readonly graceMs?: number;
  }): Promise<number> {
    return reapSandboxes(this.place, filter);
  }

  list(now: number): Promise<readonly SandboxInfo[]> {
    return listSandboxes(this.place, this.name, now);
  }

  removeSlot(slot: Pick<SandboxIdentity, "experiment" | "slot">, keep?: string): Promise<number> {
    return removeSlotSandboxes(this.place, slot, keep);
  }

  private manifestOf(spec: SandboxSpec): Promise<Manifest> {
    return this.roots.of(spec.root, mountsIn(workdirOf(spec), spec.mounts));
  }
}
