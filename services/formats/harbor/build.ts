/** Builds an image from a context of files by the daemon's classic builder. */
import { Readable } from "node:stream";
import type Docker from "dockerode";
import type { FileChange } from "../../../core/task.ts";
import { contentOf, daemonEvents, daemonMessage, statusOf, type TarEntry, tar } from "../../sandbox/index.ts";
import { withoutIgnored } from "./dockerignore.ts";

export interface BuildContext {
  /** Paths relative to the context. */
  readonly files: readonly FileChange[];
  readonly dockerfile: string;
}

export interface BuildOptions {
  readonly labels?: Readonly<Record<string, string>>;
  /** Bound of each step. */
  readonly memoryMb?: number;
  readonly timeoutSeconds?: number;
  /** Told of each step, as it begins. */
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

export type BuildErrorKind = "step" | "timeout" | "daemon";

/** `step`: the Dockerfile does not build; `timeout`: not in its time; `daemon`: no answer of the daemon's, try again. */
export class BuildError extends Error {
  readonly kind: BuildErrorKind;
  constructor(kind: BuildErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "BuildError";
    this.kind = kind;
  }
}

/** What one line of the daemon's answer may say. */
interface BuildEvent {
  readonly stream?: string;
  readonly error?: string;
  readonly aux?: { readonly ID?: string };
}

/** Lines that the builder says of itself. */
const BUILDERS_OWN = /^(?:---> |Removing intermediate container )/;

/** Lines of a failing step's output that its error quotes. */
const QUOTED_LINES = 5;

/**
 * The image's id, `sha256:…`: contexts of equal bytes share it while the daemon's cache holds. Labels go into the image. The steps have the daemon's
 * network. A build that is given up ends at the daemon, too, with its connection. Throws BuildError.
 */
export async function buildImage(
  docker: Docker,
  context: BuildContext,
  options: BuildOptions = {},
): Promise<string> {
  const { memoryMb, timeoutSeconds, signal } = options;
  const log = new BuildLog(options.log);
  const late = timeoutSeconds === undefined ? undefined : AbortSignal.timeout(milliseconds(timeoutSeconds));
  const signals = [late, signal].filter((one) => one !== undefined);
  try {
    const answer = await docker.buildImage(Readable.from(tar(entriesOf(context))), {
      dockerfile: context.dockerfile,
      labels: options.labels ?? {},
      rm: true,
      forcerm: true,
      ...(memoryMb !== undefined && { memory: memoryMb * 2 ** 20, memswap: memoryMb * 2 ** 20 }),
      ...(signals.length > 0 && { abortSignal: AbortSignal.any(signals) }),
    });
    for await (const event of daemonEvents<BuildEvent>(answer)) log.add(event);
  } catch (error) {
    signal?.throwIfAborted();
    if (late?.aborted) throw log.late(timeoutSeconds!, error);
    throw refusal(error);
  }
  return log.result();
}

/** What a timer takes: whole, and not above 24 days. */
const milliseconds = (seconds: number): number => Math.min(Math.ceil(seconds * 1000), 2 ** 31 - 1);

function* entriesOf({ files, dockerfile }: BuildContext): Generator<TarEntry> {
  for (const file of withoutIgnored(files, dockerfile)) {
    if (file.kind === "symlink") yield { type: "symlink", path: file.path, target: file.target };
    if (file.kind === "write")
      yield {
        type: "file",
        path: file.path,
        content: contentOf(file),
        executable: file.executable === true,
      };
  }
}

/** A Dockerfile that cannot be parsed is refused before anything is streamed, with status 400. */
function refusal(error: unknown): BuildError {
  const said = daemonMessage(error);
  if (statusOf(error) === 400)
    return new BuildError("step", `the Dockerfile does not build: ${said}`, { cause: error });
  return new BuildError("daemon", `the Docker daemon did not build the image: ${said}`, { cause: error });
}

/** Follows a build: the step it is in, the last lines of that step, how it ended. */
class BuildLog {
  private step = "before the first step";
  private lines: string[] = [];
  private error: string | null = null;
  private id: string | null = null;
  private readonly onStep: (line: string) => void;

  constructor(onStep: (line: string) => void = () => {}) {
    this.onStep = onStep;
  }

  add(event: BuildEvent): void {
    if (event.error !== undefined) this.error ??= event.error.trim();
    if (event.aux?.ID !== undefined) this.id = event.aux.ID;
    for (const line of (event.stream ?? "").split("\n")) this.addLine(line.trim());
  }

  private addLine(line: string): void {
    const step = /^Step (\d+\/\d+) : (.*)$/.exec(line);
    if (step) {
      this.step = `in step ${step[1]}, ${step[2]}`;
      this.lines = [];
      this.onStep(line);
    } else if (line !== "" && !BUILDERS_OWN.test(line)) {
      this.lines = [...this.lines.slice(1 - QUOTED_LINES), line];
    }
  }

  late(seconds: number, cause: unknown): BuildError {
    return new BuildError("timeout", `the Dockerfile does not build in ${seconds} s: still ${this.step}`, {
      cause,
    });
  }

  result(): string {
    if (this.error === null && this.id !== null) return this.id;
    const said = [this.error ?? "the daemon's answer ended early", ...this.lines].join(" | ");
    throw new BuildError(
      this.error === null ? "daemon" : "step",
      `the Dockerfile does not build ${this.step}: ${said}`,
    );
  }
}
