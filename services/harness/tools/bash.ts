/** Bash: a command in a login shell of the sandbox. */
import { constants } from "node:os";
import type { ExecResult } from "../../sandbox/runtime.ts";
import {
  type Arguments,
  decodeText,
  encodeUtf8,
  ToolError,
  textOrEmpty,
  toFloat,
  truncate,
  universalNewlines,
} from "./python.ts";
import { define, type Tool } from "./tool.ts";

/** Leaf's limit, in characters of the whole result. */
const MAX_CHARS = 30_000;
/** Per stream. Far above MAX_CHARS, so that the count of characters cut off is the true one for all but a flood. */
const MAX_BYTES = 2 ** 20;
const DEFAULT_SECONDS = 120;
/** Leaf has no upper bound; a rollout needs one. */
const MAX_SECONDS = 3600;
/** Linux's MAX_ARG_STRLEN, the terminating zero included. */
const MAX_COMMAND_BYTES = 131_072;

/** Seconds; a `timeout` above 1000 can only be meant in milliseconds. */
export function timeoutSeconds(args: Arguments): number {
  const bounded = (seconds: number) => (seconds > 0.1 ? Math.min(seconds, MAX_SECONDS) : 0.1);
  if (args.timeout_ms !== undefined && args.timeout_ms !== null)
    return bounded(toFloat(args.timeout_ms) / 1000);
  if (args.timeout === undefined || args.timeout === null) return DEFAULT_SECONDS;
  const value = toFloat(args.timeout);
  return bounded(value > 1000 ? value / 1000 : value);
}

/** `f"{seconds:.1f}"`: ties, which only quarters have, go to the even digit. */
function oneDecimal(seconds: number): string {
  const tenths = seconds * 10;
  const floor = Math.floor(tenths);
  if (tenths - floor === 0.5 && floor % 2 === 0) return (floor / 10).toFixed(1);
  return seconds.toFixed(1);
}

/** Python's return code: a signal's number is negative. */
function returnCode(result: ExecResult): number {
  // The kernel or the sandbox's own watch ends it, whichever looks first: the same end to whoever reads of it.
  if (result.cpuExceeded) return -constants.signals.SIGXCPU;
  if (result.exitCode !== null) return result.exitCode;
  const signals: Readonly<Record<string, number>> = constants.signals;
  return -(signals[result.signal ?? "SIGKILL"] ?? constants.signals.SIGKILL);
}

function checkedCommand(args: Arguments): string {
  const command = textOrEmpty(args.command);
  if (command === "") throw new ToolError("ValueError", "command is required");
  if (command.includes("\0")) throw new ToolError("ValueError", "embedded null byte");
  if (encodeUtf8(command).length >= MAX_COMMAND_BYTES)
    throw new ToolError("OSError", "[Errno 7] Argument list too long: '/bin/bash'");
  return command;
}

export const bash: Tool = {
  definition: define(
    "Bash",
    "Run a shell command in the repository.",
    {
      command: { type: "string", description: "The command." },
      description: { type: "string", description: "What it is for, in a few words." },
      timeout: { type: "number", description: "Seconds after which it is stopped. Optional." },
    },
    ["command"],
  ),
  async run({ sandbox, signal, reuse, commandCpuSeconds }, args) {
    const command = checkedCommand(args);
    const seconds = timeoutSeconds(args);
    // A command holds no zero byte, so the key is unambiguous.
    const key = `${seconds}\0${command}`;
    const known = await reuse?.recall(key);
    if (known !== undefined) return known;
    const result = await sandbox.exec(["/bin/bash", "-lc", command], {
      timeoutSeconds: seconds,
      outputBytes: MAX_BYTES,
      ...(commandCpuSeconds === undefined ? {} : { cpuSeconds: commandCpuSeconds }),
      ...(signal ? { signal } : {}),
    });
    const stdout = decodeText(result.stdout);
    const stderr = decodeText(result.stderr);
    if (result.timedOut)
      return truncate(
        `Timed out after ${oneDecimal(seconds)}s\nSTDOUT:\n${stdout}\nSTDERR:\n${stderr}`,
        MAX_CHARS,
      );
    const text = truncate(
      `Exit code: ${returnCode(result)}\nSTDOUT:\n${universalNewlines(stdout)}\nSTDERR:\n${universalNewlines(stderr)}`,
      MAX_CHARS,
    );
    // What was killed may get further another time, unless it had all the CPU time it may have.
    if ((result.exitCode !== null || result.cpuExceeded) && !signal?.aborted)
      await reuse?.remember(key, text);
    return text;
  },
};
