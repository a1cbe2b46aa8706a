/** Which code runs, for the record. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { packageRoot } from "./paths.ts";

/** Commit of the checkout; `unknown` outside of git. */
export async function codeVersion(): Promise<string> {
  const { stdout } = await promisify(execFile)("git", ["-C", packageRoot, "rev-parse", "HEAD"]).catch(() => ({
    stdout: "unknown",
  }));
  return stdout.trim();
}
