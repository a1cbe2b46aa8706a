/** The command channel of a sandbox for as long as it lives: opened again once where it was lost, and what its loss means. */
import { Collector } from "../output.ts";
import { SandboxError } from "../runtime.ts";
import { type Call, type Channel, ChannelLost, type Running } from "./channel.ts";
import type { Daemon } from "./daemon.ts";
import type { Shell, ShellResult } from "./files.ts";
import type { Ending } from "./frames.ts";
import { interrupt } from "./interrupt.ts";

const MEGABYTE = 1024 * 1024;

/** Of a script of ours; a tree of 200,000 files takes some seconds to hash. */
const SCRIPT_SECONDS = 120;
export const SCRIPT_OUTPUT_BYTES = 64 * MEGABYTE;

/** Without a locale to load, the programs of a script start in half the time. */
const PLAIN = "export LC_ALL=C\n";

export interface LineParts {
  readonly daemon: Daemon;
  readonly container: string;
  readonly channel: Channel;
  /** From a signal to the end of a command. */
  readonly killMs: number;
  /** Throws SandboxError where the sandbox is no longer its holder's: then nothing is opened again. */
  readonly checkHeld: (cause: Error) => void;
}

export class Line {
  private readonly parts: LineParts;
  private channel: Channel;
  /** Since the last command that told its end. */
  private lostBefore = false;
  /** When the last command began. */
  private begun = 0;
  /** What every call says once the channel was lost twice in a row. */
  private broken: SandboxError | undefined;

  constructor(parts: LineParts) {
    this.parts = parts;
    this.channel = parts.channel;
  }

  /** Throws SandboxError `lost`. */
  check(): void {
    if (this.broken !== undefined) throw this.broken;
  }

  /** A channel lost while nothing ran is opened again: nothing of the next command was sent. */
  async ready(): Promise<void> {
    if (this.channel.loss !== undefined) await this.reopen(this.channel.loss);
  }

  begin(call: Call): Running {
    this.begun = Date.now();
    return this.channel.begin(call);
  }

  /** A command's end. Throws ChannelLost. */
  async endOf(running: Running): Promise<Ending> {
    const ending = await running.ended;
    this.lostBefore = false;
    return ending;
  }

  /** Kills the command. Where even that does not end it, the container is killed. */
  interrupt(running: Running): Promise<SandboxError | undefined> {
    const { channel } = this;
    const { daemon, container, killMs } = this.parts;
    return interrupt({ daemon, container, channel, running, killMs });
  }

  /**
   * Nothing inside can reach process 1's streams, so a lost channel says nothing of the command: it may have ended well. Returns only where its
   * container was killed for memory, which is the command's own end. Throws SandboxError.
   */
  async afterLoss(lost: ChannelLost, unanswered: SandboxError | undefined): Promise<void> {
    if (unanswered !== undefined) throw unanswered;
    try {
      await this.reopen(lost);
    } catch (error) {
      if (error instanceof SandboxError && error.outOfMemory) return;
      throw error;
    }
    throw new SandboxError("lost", `what became of the command is unknown: ${lost.message}`, { cause: lost });
  }

  /** A script of ours; after a lost channel it is tried once more on the new one. */
  readonly shell: Shell = async (script, args, options = {}) => {
    for (;;) {
      try {
        return await this.runScript(script, args, options);
      } catch (error) {
        if (!(error instanceof ChannelLost)) throw error;
        // Throws the second time.
        await this.reopen(error);
      }
    }
  };

  /** Throws ChannelLost. */
  async runScript(
    script: string,
    args: readonly string[],
    options: { readonly input?: readonly Uint8Array[]; readonly outputBytes?: number },
  ): Promise<ShellResult> {
    const stdout = new Collector(options.outputBytes ?? SCRIPT_OUTPUT_BYTES);
    const stderr = new Collector(10_000);
    const { input } = options;
    const running = this.channel.begin({
      kind: input === undefined ? "run" : "feed",
      words: ["sh", "-c", `${PLAIN}${script}`, "sh", ...args],
      ...(input !== undefined && { input, inputBytes: input.reduce((sum, { length }) => sum + length, 0) }),
      onStdout: (chunk) => stdout.push(chunk),
      onStderr: (chunk) => stderr.push(chunk),
    });
    let stopped: Promise<SandboxError | undefined> | undefined;
    const timeout = setTimeout(() => {
      stopped = this.interrupt(running);
    }, SCRIPT_SECONDS * 1000);
    try {
      const { code } = await this.endOf(running);
      const result = { code, stdout: stdout.bytes(), stderr: stderr.bytes().toString("utf8") };
      if (stopped !== undefined)
        throw new SandboxError("lost", `a look at the sandbox's files took longer than ${SCRIPT_SECONDS} s`);
      return { ...result, truncated: stdout.truncated };
    } catch (error) {
      throw (await stopped) ?? error;
    } finally {
      clearTimeout(timeout);
      await stopped;
    }
  }

  /** Opens a lost channel once. Throws SandboxError: what happened to the container, or the daemon. */
  private async reopen(error: ChannelLost): Promise<void> {
    const { daemon, container, checkHeld } = this.parts;
    checkHeld(error);
    const end = await daemon.endOf(container, this.begun);
    if (end !== undefined) {
      const { outOfMemory } = end;
      throw new SandboxError("lost", `${end.why}; ${error.message}`, { cause: error, outOfMemory });
    }
    if (this.lostBefore) {
      this.broken = new SandboxError("lost", `twice in a row ${error.message}`, { cause: error });
      throw this.broken;
    }
    this.lostBefore = true;
    try {
      const key = this.channel.currentKey;
      this.channel = await daemon.reattach(container, key, key);
    } catch (second) {
      const why = (await daemon.endOf(container))?.why ?? String(second);
      throw new SandboxError("lost", `the command channel could not be opened again: ${why}`, {
        cause: second,
      });
    }
  }

  close(): void {
    this.channel.close();
  }
}
