#!/usr/bin/env node
/** Starts the command line on Node 24, which the packages bring along where the machine has an older one. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const main = join(root, "apps/cli/main.ts");
const node = join(root, "node_modules/.bin/node");
const wanted = 24;

// For this process and the stack's: most of a short command's time is compiling.
process.env.NODE_COMPILE_CACHE ??= join(root, "node_modules/.cache/compiled");
// Not there in older versions of Node.
module.enableCompileCache?.();

if (!existsSync(join(root, "node_modules", "commander"))) {
  process.stderr.write(`tadpole: its packages are not installed; run "npm start" (or "npm ci") in ${root}\n`);
  process.exit(1);
}

if (Number(process.versions.node.split(".")[0]) >= wanted) {
  await import(main);
} else if (existsSync(node)) {
  runOn(node);
} else {
  process.stderr.write(
    `tadpole: runs on Node ${wanted}, which its packages bring along, and they are not complete; wait for the "npm start" that installs them, or run "npm ci" in ${root}\n`,
  );
  process.exit(1);
}

/** The child has the terminal; this process only passes signals on and ends as the child ends. */
function runOn(program) {
  const child = spawn(program, [main, ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal sends SIGINT to both; this process must outlive it to report how the child ended.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(`tadpole: ${program}: ${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
}
