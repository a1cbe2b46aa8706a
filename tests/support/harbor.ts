/** Harbor's own package from PyPI, in a virtual environment outside the checkout that later runs find again. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export const HARBOR_VERSION = "0.26.0";

/** Harbor uses the syntax of this version: an older Python cannot even read it. */
const OLDEST = [3, 12] as const;

function candidates(): string[] {
  const pyenv = join(process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"), "versions");
  const installed = existsSync(pyenv)
    ? readdirSync(pyenv).map((name) => join(pyenv, name, "bin/python3"))
    : [];
  return ["python3.14", "python3.13", "python3.12", "python3", ...installed];
}

function isRecent(python: string): boolean {
  const { status, stdout } = spawnSync(
    python,
    ["-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])"],
    {
      encoding: "utf8",
    },
  );
  if (status !== 0) return false;
  const [major = 0, minor = 0] = stdout.trim().split(" ").map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/** Path of a Python that imports `harbor`; installed at the first call. Throws with the remedy where there is no Python for it. */
export function harborPython(): string {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "tadpole");
  const folder = join(cache, `harbor-${HARBOR_VERSION}`);
  const python = join(folder, "bin/python");
  if (existsSync(python)) return python;
  const base = candidates().find(isRecent);
  if (base === undefined)
    throw new Error(
      `harbor ${HARBOR_VERSION} needs Python ${OLDEST.join(".")} or later with venv, on PATH or below ~/.pyenv/versions; Debian 12 has 3.11: pyenv install 3.12`,
    );
  mkdirSync(cache, { recursive: true });
  const staging = mkdtempSync(join(cache, ".harbor-"));
  try {
    const run = (program: string, args: readonly string[]) =>
      execFileSync(program, [...args], { stdio: ["ignore", "ignore", "inherit"] });
    run(base, ["-m", "venv", staging]);
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(join(staging, "bin/python"), [...pip, `harbor==${HARBOR_VERSION}`]);
    // Another run may have been first: its folder is as good.
    if (!existsSync(folder)) renameSync(staging, folder);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  return python;
}

/** Runs a program of Python that may import harbor; what it printed, a line each. */
export function runHarbor(program: string, args: readonly string[]): string[] {
  // Harbor looks for prices of models on the web as it is imported, unless it is told not to.
  const env = { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: "True", PYTHONDONTWRITEBYTECODE: "1" };
  const output = execFileSync(harborPython(), ["-c", program, ...args], { encoding: "utf8", env });
  return output.split("\n").filter((line) => line !== "");
}
