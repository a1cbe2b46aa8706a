/** Virtual environments of Python outside the checkout, which later runs find again. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

export const cacheFolder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "tadpole");

/** Every Python 3 of this machine; the minor version is 0 of one that cannot make virtual environments. */
export function pythons(): { readonly python: string; readonly minor: number }[] {
  const pyenv = join(process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"), "versions");
  const installed = existsSync(pyenv)
    ? readdirSync(pyenv).map((name) => join(pyenv, name, "bin/python3"))
    : [];
  const candidates = ["python3.14", "python3.13", "python3.12", "python3", ...installed];
  return candidates.map((python) => ({ python, minor: minorOf(python) }));
}

function minorOf(python: string): number {
  const program =
    "import sys, venv, ensurepip; print(sys.version_info.minor if sys.version_info.major == 3 else 0)";
  const { status, stdout } = spawnSync(python, ["-c", program], { encoding: "utf8" });
  return status === 0 ? Number(stdout) : 0;
}

/** `installs` are arguments of one `pip install` each. The folder appears whole. */
export function makeVenv(python: string, folder: string, installs: readonly (readonly string[])[]): void {
  mkdirSync(dirname(folder), { recursive: true });
  const staging = mkdtempSync(join(dirname(folder), ".venv-"));
  const run = (program: string, args: readonly string[]) =>
    execFileSync(program, [...args], { stdio: ["ignore", "ignore", "inherit"] });
  try {
    run(python, ["-m", "venv", staging]);
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    for (const args of installs) run(join(staging, "bin/python"), [...pip, ...args]);
    // Another run may have been first: its folder is as good.
    if (!existsSync(folder)) renameSync(staging, folder);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}
