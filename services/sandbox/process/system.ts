/** What of the host a sandbox is built from: bwrap, Node, a made-up /etc. */
import { accessSync, constants, existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { SandboxError } from "../runtime.ts";
import { makeSkeleton } from "../skeleton.ts";
import { MASKED, type System } from "./command.ts";

export interface SystemOptions {
  /** Folder of all sandboxes. */
  readonly root: string;
  readonly nodePath: string;
  /** Default: looked up on PATH. */
  readonly bwrapPath?: string;
}

/** Throws SandboxError `unavailable` with the reason and what to do. */
export function findSystem(options: SystemOptions): System {
  const bwrap = options.bwrapPath ?? findOnPath("bwrap");
  if (process.platform !== "linux")
    throw new SandboxError("unavailable", `the process sandbox needs Linux, this is ${process.platform}`);
  if (bwrap === undefined)
    throw new SandboxError("unavailable", "bubblewrap is not installed; type: apt-get install bubblewrap");
  const skeleton = makeSkeleton(options.root);
  return {
    bwrap,
    node: realpathSync(options.nodePath),
    etc: `${skeleton}/etc`,
    empty: `${skeleton}/empty`,
    local: `${skeleton}/local`,
    masked: MASKED.filter((path) => existsSync(path)),
    top: ["/bin", "/sbin", "/lib", "/lib64", "/lib32"].flatMap((path) => {
      const stat = lstatSync(path, { throwIfNoEntry: false });
      if (stat === undefined) return [];
      return [{ path, link: stat.isSymbolicLink() ? readlinkSync(path) : null }];
    }),
  };
}

function findOnPath(name: string): string | undefined {
  for (const folder of (process.env.PATH ?? "").split(":")) {
    try {
      accessSync(`${folder}/${name}`, constants.X_OK);
      return `${folder}/${name}`;
    } catch {}
  }
  return undefined;
}
