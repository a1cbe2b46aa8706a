/** What sandboxes ask of the Docker daemon. Every call ends in time, and every failure says what it means. */
import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import type Docker from "dockerode";
import { SandboxError, type SandboxErrorKind } from "../runtime.ts";
import { Channel } from "./channel.ts";
import type { Client } from "./client.ts";
import { type ContainerParts, containerOptions, LABELS } from "./container.ts";
import { daemonError, daemonMessage, isBrokenOff, statusOf } from "./errors.ts";
import { HELPER_FILTER, helperDeadline } from "./helper.ts";

/** A busy daemon has taken twenty seconds for a start; one that takes longer than this hangs. */
const CALL_MS = 120_000;

/** From the end of a container until the daemon has told all that led to it. */
const EVENT_MS = 1000;

/** Exit code of a container whose process 1 was killed. */
const KILLED_CODE = 137;

export interface ListedContainer {
  readonly id: string;
  /** Without the leading slash. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly created: number;
}

/** How a container ended, or why that cannot be told. */
export interface End {
  /** One sentence. */
  readonly why: string;
  /** The kernel killed process 1 for want of memory, which only what ran beside it can have used up. */
  readonly outOfMemory: boolean;
}

export class Daemon {
  readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  private get docker(): Docker {
    return this.client.docker;
  }

  /** Why sandboxes cannot run on it, with the remedy; null when they can. */
  async unfit(): Promise<string | null> {
    const info = (await this.ask("asking for its settings", "unavailable", () => this.docker.info())) as {
      OSType?: string;
      MemoryLimit?: boolean;
      SwapLimit?: boolean;
      PidsLimit?: boolean;
    };
    if (info.OSType !== "linux")
      return `the Docker daemon at ${this.client.where} runs ${info.OSType} containers; switch it to Linux ones`;
    if (info.MemoryLimit && info.PidsLimit !== false) return null;
    return (
      `the Docker daemon at ${this.client.where} cannot limit memory or processes; ` +
      "a rootless one needs cgroup v2 with delegation (https://rootlesscontaine.rs/getting-started/common/cgroup2/)"
    );
  }

  /**
   * Creates the container; one of that name that was created and never started, under the same labels, is the answer to an earlier try
   * whose reply was lost. Any other of that name is removed first: this identity's sandbox is made anew.
   */
  async create(parts: ContainerParts): Promise<string> {
    for (let left = 3; ; left--) {
      try {
        return (
          await this.ask("creating a container", "boot", (signal) =>
            this.docker.createContainer({ ...containerOptions(parts), abortSignal: signal }),
          )
        ).id;
      } catch (error) {
        const { cause } = error as Error;
        if (left === 0 || !(statusOf(cause) === 409 || isBrokenOff(cause))) throw error;
        const twin = await this.inspect(parts.name);
        if (twin === undefined) continue;
        if (twin.state === "created" && sameLabels(twin.labels, parts.labels)) return twin.id;
        if (twin.labels[LABELS.data] !== parts.labels[LABELS.data]) throw error;
        await this.remove(twin.id);
      }
    }
  }

  private async inspect(name: string) {
    try {
      const { Id, State, Config } = await this.ask("looking for a container", "boot", (signal) =>
        this.docker.getContainer(name).inspect({ abortSignal: signal } as object),
      );
      return { id: Id, state: State.Status, labels: Config.Labels };
    } catch (error) {
      if (statusOf((error as Error).cause) === 404) return undefined;
      throw error;
    }
  }

  /** The attached stream: the container's three standard streams. */
  async attach(id: string): Promise<Duplex> {
    const options = { stream: true, stdin: true, stdout: true, stderr: true, hijack: true };
    // Not through a signal: it would end the stream later.
    const stream = await this.ask("attaching to a container", "boot", () =>
      this.docker.getContainer(id).attach(options),
    );
    return stream as unknown as Duplex;
  }

  async start(id: string): Promise<void> {
    await this.ask("starting a container", "boot", (signal) =>
      this.docker.getContainer(id).start({ abortSignal: signal }),
    );
  }

  /**
   * A new channel to a container that runs; what still ran in it is killed, and its process 1 listens to `newKey` alone. A holder that only lost
   * its connection keeps its key: the one on record is what the next holder begins with.
   */
  async reattach(id: string, key: string, newKey: string): Promise<Channel> {
    const channel = new Channel(await this.attach(id), key);
    await this.signal(id, "SIGUSR1");
    channel.restart();
    await within(channel.rekey(newKey), "process 1 of a container does not answer");
    return channel;
  }

  async signal(id: string, name: "SIGUSR1" | "SIGKILL"): Promise<void> {
    await this.ask("signalling a container", "lost", (signal) =>
      this.docker.getContainer(id).kill({ signal: name, abortSignal: signal }),
    );
  }

  async rename(id: string, name: string): Promise<void> {
    await this.ask("renaming a container", "lost", (signal) =>
      this.docker.getContainer(id).rename({ name, abortSignal: signal }),
    );
  }

  /** With its volumes. Nothing to remove, or already being removed, is well. */
  async remove(id: string): Promise<void> {
    try {
      await this.ask("removing a container", "lost", (signal) =>
        this.docker.getContainer(id).remove({ force: true, v: true, abortSignal: signal }),
      );
    } catch (error) {
      const { cause } = error as Error;
      if (statusOf(cause) === 404) return;
      if (statusOf(cause) === 409 && /already in progress/.test(daemonMessage(cause))) return;
      throw error;
    }
  }

  /** Undefined while the container runs. `since`: when what ran in it last began, in milliseconds since the epoch. */
  async endOf(id: string, since = 0): Promise<End | undefined> {
    try {
      const { State } = await this.ask("looking at a container", "lost", (signal) =>
        this.docker.getContainer(id).inspect({ abortSignal: signal } as object),
      );
      if (State.Running) return undefined;
      const mayBe = State.OOMKilled && State.ExitCode === KILLED_CODE;
      if (mayBe && (await this.ranOutOfMemory(id, since, Date.parse(State.FinishedAt))))
        return { why: "the kernel killed the whole container for want of memory", outOfMemory: true };
      const why = `the container ended with exit code ${State.ExitCode}${State.Error ? ` (${State.Error})` : ""}`;
      return { why, outOfMemory: false };
    } catch (error) {
      const isGone = statusOf((error as Error).cause) === 404;
      return { why: isGone ? "the container was removed" : (error as Error).message, outOfMemory: false };
    }
  }

  /** `OOMKilled` stays set from the first process on that was killed for it, whatever ends the container later: the events tell when. */
  private async ranOutOfMemory(id: string, since: number, finished: number): Promise<boolean> {
    const events = await this.ask("asking for a container's events", "lost", async (signal) => {
      const stream = await this.docker.getEvents({
        since: (since / 1000).toFixed(3),
        // It may be told a moment after the end; the daemon waits for a time to come.
        until: ((finished + EVENT_MS) / 1000).toFixed(3),
        filters: { container: [id], event: ["oom"] },
        abortSignal: signal,
      } as object);
      const chunks: string[] = [];
      for await (const chunk of stream) chunks.push(chunk.toString());
      return chunks.join("");
    });
    return events.trim() !== "";
  }

  /** Size of the writable layer. */
  async layerBytes(id: string): Promise<number> {
    const found = await this.ask("measuring a container", "lost", (signal) =>
      this.docker.getContainer(id).inspect({ size: true, abortSignal: signal } as object),
    );
    return (found as { SizeRw?: number }).SizeRw ?? 0;
  }

  /** Containers of a data folder, running or not. */
  list(dataId: string): Promise<readonly ListedContainer[]> {
    return this.find({ label: [`${LABELS.data}=${dataId}`] });
  }

  /** Removes what killed processes left that were looking into images, whichever data folder they worked for. */
  async removeHelpers(now: number): Promise<void> {
    for (const { id, name } of await this.find(HELPER_FILTER))
      if ((helperDeadline(name) ?? now) < now) await this.remove(id);
  }

  private async find(filters: Record<string, string[]>): Promise<readonly ListedContainer[]> {
    const found = await this.ask("listing containers", "unavailable", (signal) =>
      this.docker.listContainers({ all: true, filters, abortSignal: signal }),
    );
    return found.map(({ Id, Names, Labels, Created }) => ({
      id: Id,
      name: (Names[0] ?? "").replace(/^\//, ""),
      labels: Labels,
      created: Created * 1000,
    }));
  }

  private async ask<T>(
    doing: string,
    otherwise: SandboxErrorKind,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    try {
      return await within(call(AbortSignal.timeout(CALL_MS)), `${doing}: no answer`);
    } catch (error) {
      throw daemonError(error, this.client.where, doing, otherwise);
    }
  }
}

function sameLabels(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  return Object.entries(b).every(([name, value]) => a[name] === value);
}

/** Rejects with SandboxError `unavailable` after the time every call has. */
async function within<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new SandboxError("unavailable", `${what} within ${CALL_MS / 1000} s`)),
      CALL_MS,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** CPU seconds of a container as the host's kernel counts them; 0 where its control group is not to be seen. */
export function cpuSecondsOf(id: string): number {
  for (const path of [
    `/sys/fs/cgroup/cpuacct/docker/${id}/cpuacct.usage`,
    `/sys/fs/cgroup/system.slice/docker-${id}.scope/cpu.stat`,
    `/sys/fs/cgroup/docker/${id}/cpu.stat`,
  ]) {
    try {
      const text = readFileSync(path, "latin1");
      const micros = /^usage_usec (\d+)/m.exec(text)?.[1];
      return micros === undefined ? Number(text) / 1e9 : Number(micros) / 1e6;
    } catch {}
  }
  return 0;
}
