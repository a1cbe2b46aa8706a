/** Runs a program quietly; what it said is shown only when it fails. */
import { spawn } from "node:child_process";

/** Resolves with the output; rejects with one Error that names the program, its exit and its last lines, and has its `output`. */
export function run(file, args, { env = process.env, cwd, seconds = 600 } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { env, cwd, stdio: ["ignore", "pipe", "pipe"], timeout: seconds * 1000 });
    let output = "";
    const collect = (chunk) => {
      output = (output + chunk).slice(-20_000);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", (error) => reject(new Error(`${file}: ${error.message}`)));
    child.on("close", (code, signal) => {
      if (code === 0) return resolve(output);
      const end = signal ? `ended by ${signal}` : `exit code ${code}`;
      const last = output.trim().split("\n").slice(-5).join("\n    ");
      const message = `${[file, ...args].join(" ")}: ${end}${last ? `\n    ${last}` : ""}`;
      reject(Object.assign(new Error(message), { output }));
    });
  });
}
