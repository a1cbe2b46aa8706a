/** Harbor's own package from PyPI, in a virtual environment outside the checkout that later runs find again. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export const HARBOR_VERSION = "0.26.0";

/** Harbor as a whole uses the syntax of 3.12; its models are read by 3.11, too, which is what Debian 12 has. */
const WHOLE = 12;
const MODELS = 11;

/** What the models import. */
const MODELS_NEED = [
  ...["pydantic==2.14.4", "toml==0.10.2", "pathspec==1.1.1"],
  ...["pyyaml==6.0.4", "packaging==26.4", "typing_extensions==4.16.0"],
];

export interface HarborPackage {
  readonly python: string;
  /** Its command line works; else its models alone. */
  readonly whole: boolean;
}

function candidates(): string[] {
  const pyenv = join(process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"), "versions");
  const installed = existsSync(pyenv)
    ? readdirSync(pyenv).map((name) => join(pyenv, name, "bin/python3"))
    : [];
  return ["python3.14", "python3.13", "python3.12", "python3", ...installed];
}

/** Minor version of a Python 3 that makes virtual environments; 0 for anything else. */
function minorOf(python: string): number {
  const program =
    "import sys, venv, ensurepip; print(sys.version_info.minor if sys.version_info.major == 3 else 0)";
  const { status, stdout } = spawnSync(python, ["-c", program], { encoding: "utf8" });
  return status === 0 ? Number(stdout) : 0;
}

/** What this machine's Pythons allow. Throws with the remedy where that is nothing. */
export function harborPackage(): HarborPackage {
  const { folder, whole } = choose();
  return { python: join(folder, "bin/python"), whole };
}

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "tadpole");

interface Choice {
  readonly base: string;
  readonly folder: string;
  readonly whole: boolean;
}

let chosen: Choice | undefined;
function choose(): Choice {
  chosen ??= look();
  return chosen;
}

function look(): Choice {
  const found = candidates().map((python) => ({ python, minor: minorOf(python) }));
  const base = found.find(({ minor }) => minor >= WHOLE) ?? found.find(({ minor }) => minor >= MODELS);
  if (base === undefined)
    throw new Error(
      `harbor ${HARBOR_VERSION} needs Python 3.${MODELS} or later that can make virtual environments; type: apt-get install python3-venv`,
    );
  const whole = base.minor >= WHOLE;
  const name = `harbor-${HARBOR_VERSION}-${whole ? "whole" : "models"}-3.${base.minor}`;
  return { base: base.python, folder: join(cache, name), whole };
}

/** Minutes at the first call on a machine, nothing later. */
export function installHarbor(): void {
  const { base, folder, whole } = choose();
  if (!existsSync(join(folder, "bin/python"))) install(base, folder, whole);
}

function install(base: string, folder: string, whole: boolean): void {
  mkdirSync(cache, { recursive: true });
  const staging = mkdtempSync(join(cache, ".harbor-"));
  const run = (program: string, args: readonly string[]) =>
    execFileSync(program, [...args], { stdio: ["ignore", "ignore", "inherit"] });
  try {
    run(base, ["-m", "venv", staging]);
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    const harbor = `harbor==${HARBOR_VERSION}`;
    if (!whole) run(join(staging, "bin/python"), [...pip, ...MODELS_NEED]);
    const alone = whole ? [] : ["--no-deps", "--ignore-requires-python"];
    run(join(staging, "bin/python"), [...pip, ...alone, harbor]);
    // Another run may have been first: its folder is as good.
    if (!existsSync(folder)) renameSync(staging, folder);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

/** 3.11 has this decorator under another name. */
const PRELUDE = `
import typing
if not hasattr(typing, "override"):
    import typing_extensions
    typing.override = typing_extensions.override
`;

/** Runs a program of Python that may import harbor; what it printed, a line each. */
export function runHarbor(program: string, args: readonly string[]): string[] {
  // Harbor looks for prices of models on the web as it is imported, unless it is told not to.
  const env = { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: "True", PYTHONDONTWRITEBYTECODE: "1" };
  const { python } = harborPackage();
  const output = execFileSync(python, ["-c", `${PRELUDE}${program}`, ...args], { encoding: "utf8", env });
  return output.split("\n").filter((line) => line !== "");
}
