/** Ends a command from outside: by a signal to process 1, else by killing the container, else by giving the connection up. */
import { SandboxError } from "../runtime.ts";
import type { Channel, Running } from "./channel.ts";
import type { Daemon } from "./daemon.ts";

/** From a signal to the end of the command; the kernel may still be freeing gigabytes. */
export const KILL_MS = 30_000;

export interface Interrupted {
  readonly daemon: Pick<Daemon, "signal" | "client">;
  readonly container: string;
  readonly channel: Pick<Channel, "close">;
  readonly running: Running;
  readonly killMs: number;
}

/** The error, where the daemon delivered nothing in time: the channel is closed then, for nothing is known of what runs. */
export async function interrupt(parts: Interrupted): Promise<SandboxError | undefined> {
  const { daemon, container, channel, running, killMs } = parts;
  let isOver = false;
  const ended = running.ended.then(
    () => {},
    () => {},
  );
  void ended.then(() => {
    isOver = true;
  });
  let answered = false;
  for (const name of ["SIGUSR1", "SIGKILL"] as const) {
    const deadline = sleep(killMs);
    if (name === "SIGUSR1") await Promise.race([running.begun.catch(() => {}), deadline.done]);
    // A refusal is an answer, too. Waited for, even when the command is over: a signal still on its way would end the next one.
    const sent = daemon.signal(container, name).catch(() => {});
    answered = await Promise.race([sent.then(() => true), deadline.done.then(() => false)]);
    if (answered) await Promise.race([ended, deadline.done]);
    deadline.stop();
    if (isOver && answered) return undefined;
    if (isOver) break;
  }
  channel.close();
  if (isOver || answered) return undefined;
  return new SandboxError(
    "unavailable",
    `the Docker daemon at ${daemon.client.where} does not answer: a command that was to be killed may still run`,
  );
}

function sleep(ms: number): { readonly done: Promise<void>; readonly stop: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return {
    done: promise,
    stop: () => {
      clearTimeout(timer);
      resolve();
    },
  };
}
