/** Where a verifier's files go: into the tree with the overlay, or elsewhere into the box once it is there. */
import type { FileChange } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import { contentOf, type Sandbox, SandboxError } from "../sandbox/index.ts";

/** The working tree of sandboxes without an image. */
export const WORKDIR = "/repo";

export const workdirOf = ({ image }: Pick<PreparedEnvironment, "image">): string => image?.workdir ?? WORKDIR;

/** For the short commands that make way for files. */
export const HELPER_LIMITS = { timeoutSeconds: 30, outputBytes: 64 * 1024 } as const;

export interface SplitFiles {
  /** Paths relative to the tree. */
  readonly inTree: readonly FileChange[];
  /** Absolute paths outside it. */
  readonly outside: readonly FileChange[];
}

/** Pure. An absolute path below the working tree is one of the tree's. */
export function splitFiles(
  files: readonly FileChange[],
  environment: Pick<PreparedEnvironment, "image">,
): SplitFiles {
  const prefix = `${workdirOf(environment).replace(/\/$/, "")}/`;
  const placed = files.map((file) =>
    file.path.startsWith(prefix) ? { ...file, path: file.path.slice(prefix.length) } : file,
  );
  return {
    inTree: placed.filter(({ path }) => !path.startsWith("/")),
    outside: placed.filter(({ path }) => path.startsWith("/")),
  };
}

/** Pure. Files of the tree by their paths in the box. */
export const inBox = (
  files: readonly FileChange[],
  environment: Pick<PreparedEnvironment, "image">,
): FileChange[] => files.map((file) => ({ ...file, path: `${workdirOf(environment)}/${file.path}` }));

/** Puts files of absolute paths into a box, while nothing of the agent's has run in it, so that no link of a program's making leads elsewhere. */
export async function placeFiles(sandbox: Sandbox, files: readonly FileChange[]): Promise<void> {
  for (const file of files) {
    if (file.kind === "delete") await mustRun(sandbox, ["rm", "-rf", "--", file.path]);
    else if (file.kind === "symlink") {
      await mustRun(sandbox, ["mkdir", "-p", "--", file.path.slice(0, file.path.lastIndexOf("/")) || "/"]);
      await mustRun(sandbox, ["ln", "-sfn", "--", file.target, file.path]);
    } else {
      await mustWrite(sandbox, file.path, contentOf(file));
      if (file.executable === true) await mustRun(sandbox, ["chmod", "755", "--", file.path]);
    }
  }
}

async function mustWrite(sandbox: Sandbox, path: string, bytes: Uint8Array): Promise<void> {
  try {
    await sandbox.write(path, bytes);
  } catch (error) {
    if (error instanceof SandboxError && error.kind !== "path") throw error;
    const reason = (error as Error).message;
    throw new SandboxError("boot", `the file ${path} cannot be put there: ${reason}`, {
      cause: error,
    });
  }
}

async function mustRun(sandbox: Sandbox, argv: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await sandbox.exec(argv, HELPER_LIMITS);
  if (exitCode !== 0)
    throw new SandboxError("boot", `${argv.join(" ")}: ${Buffer.from(stderr).toString("utf8").trim()}`);
}
