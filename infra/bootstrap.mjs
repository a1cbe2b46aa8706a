/**
 * Makes a fresh checkout ready: npm packages, the Temporal CLI, bubblewrap, the data folder. Runs before `npm start` and
 * `npm test`, on Node 20 or newer, with no package installed. What is there already is left alone, so it may run any time.
 */
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bubblewrapStep } from "./bootstrap/bubblewrap.mjs";
import { packagesStep } from "./bootstrap/packages.mjs";
import { temporalStep } from "./bootstrap/temporal-step.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const oldestNode = 20;
const steps = [
  ["packages", packagesStep],
  ["temporal", temporalStep],
  ["bubblewrap", bubblewrapStep],
  ["data folder", dataFolderStep],
];

/** A step resolves with what it found or did; it throws an Error whose message says what is missing, why, and how to get it. */
async function dataFolderStep({ env, root }) {
  const folder = env.TADPOLE_DATA ? resolve(env.TADPOLE_DATA) : join(root, ".tadpole");
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new Error(
      `${folder} cannot be made (${error.code}). Experiments keep their record there; name a writable folder by TADPOLE_DATA.`,
    );
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
  const failed = await Promise.all(steps.map(([name, step]) => take(name, step)));
  if (failed.includes(true)) process.exitCode = 1;
}

/** Runs one step and writes its line. Returns whether it failed. */
async function take(name, step) {
  const started = performance.now();
  const line = (mark, text) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(6);
    process.stdout.write(`${mark} ${name.padEnd(11)} ${seconds} s  ${text}\n`);
  };
  try {
    line("✓", await step({ env: process.env, root, say: (text) => line("…", text) }));
    return false;
  } catch (error) {
    line("✗", error.message);
    return true;
  }
}

function refuse(message) {
  process.stdout.write(`✗ ${message}\n`);
  process.exitCode = 1;
}

await main();
