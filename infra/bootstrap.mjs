/**
 * Makes a fresh checkout ready: npm packages, the Temporal CLI, bubblewrap, the data folder. Runs before `npm start` and
 * `npm test`, on Node 20 or newer, with no package installed. What is there already is left alone, so it may run any time.
 */
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { makeFolder } from "./bootstrap/folder.mjs";
import { bubblewrapStep, packagesStep, temporalStep } from "./bootstrap/steps.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const oldestNode = 20;
/** npm and the compiler are silent for minutes. */
const aliveMs = 30_000;
const steps = [
  ["packages", packagesStep],
  ["temporal", temporalStep],
  ["bubblewrap", bubblewrapStep],
  ["data folder", dataFolderStep],
];

async function dataFolderStep({ env, root }) {
  const folder = env.TADPOLE_DATA ? resolve(env.TADPOLE_DATA) : join(root, ".tadpole");
  try {
    makeFolder(folder);
  } catch (error) {
    const message = `TADPOLE_DATA: ${folder} cannot be made (${error.code}); expected a folder this user may write to, experiments keep their record there`;
    throw Object.assign(new Error(message), { exitCode: 2 });
  }
  return folder;
}

async function main() {
  if (process.platform !== "linux")
    return refuse(`Linux is needed, this is ${process.platform}: sandboxes are made of Linux namespaces.`);
  if (Number(process.versions.node.split(".")[0]) < oldestNode)
    return refuse(
      `Node ${oldestNode} or newer is needed, this is ${process.version}: get it from https://nodejs.org.`,
    );
  const exitCodes = await Promise.all(steps.map(([name, step]) => take(name, step)));
  process.exitCode = Math.max(...exitCodes);
}

/** Runs one step and writes its line. Returns an exit code: 0 done, 1 failed, 2 bad input. */
async function take(name, step) {
  const started = performance.now();
  const line = (mark, text) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(6);
    process.stdout.write(`${mark} ${name.padEnd(11)} ${seconds} s  ${text}\n`);
  };
  let doing = "";
  const say = (text) => {
    doing = text;
    line("…", text);
  };
  const alive = setInterval(() => line("…", `goes on: ${doing.split(/[;(]/)[0].trim()}`), aliveMs);
  try {
    line("✓", await step({ env: process.env, root, say }));
    return 0;
  } catch (error) {
    line("✗", error.message);
    return error.exitCode ?? 1;
  } finally {
    clearInterval(alive);
  }
}

function refuse(message) {
  process.stdout.write(`✗ ${message}\n`);
  process.exitCode = 1;
}

await main();
