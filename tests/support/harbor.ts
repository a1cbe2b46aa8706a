/** Harbor's own package from PyPI, in a virtual environment outside the checkout that later runs find again. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, makeVenv, pythons } from "./venv.ts";

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

/** What this machine's Pythons allow. Throws with the remedy where that is nothing. */
export function harborPackage(): HarborPackage {
  const { folder, whole } = choose();
  return { python: join(folder, "bin/python"), whole };
}

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
  const found = pythons();
  const base = found.find(({ minor }) => minor >= WHOLE) ?? found.find(({ minor }) => minor >= MODELS);
  if (base === undefined)
    throw new Error(
      `harbor ${HARBOR_VERSION} needs Python 3.${MODELS} or later that can make virtual environments; type: apt-get install python3-venv`,
    );
  const whole = base.minor >= WHOLE;
  const name = `harbor-${HARBOR_VERSION}-${whole ? "whole" : "models"}-3.${base.minor}`;
  return { base: base.python, folder: join(cacheFolder, name), whole };
}

/** Minutes at the first call on a machine, nothing later. */
export function installHarbor(): void {
  const { base, folder, whole } = choose();
  if (!existsSync(join(folder, "bin/python"))) install(base, folder, whole);
}

function install(base: string, folder: string, whole: boolean): void {
  const harbor = `harbor==${HARBOR_VERSION}`;
  const alone = ["--no-deps", "--ignore-requires-python", harbor];
  makeVenv(base, folder, whole ? [[harbor]] : [MODELS_NEED, alone]);
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
