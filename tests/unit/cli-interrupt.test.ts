/** Ctrl-C of a command that has something to end first: it is told, and what becomes of it is one error. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { packageRoot } from "../../infra/stack/index.ts";

const SCRIPT = `
import { interruptible } from "./apps/cli/command.ts";
const waiting = setInterval(() => {}, 1000);
const work = (signal) => new Promise((_, reject) => {
  signal.addEventListener("abort", () => { clearInterval(waiting); console.log("ended"); reject(new Error("broken off")); });
  console.log("ready");
});
await interruptible(work).catch(({ kind }) => console.log(kind));
console.log(process.listenerCount("SIGINT"));
`;

it.each(["SIGINT", "SIGTERM"] as const)("%s ends it", async (name) => {
  const child = spawn(process.execPath, ["--input-type=module", "-e", SCRIPT], {
    cwd: packageRoot,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [first] = (await once(child.stdout, "data")) as [Buffer];
  expect(first.toString()).toBe("ready\n");
  child.kill(name);
  expect(await text(child.stdout)).toBe("ended\ninterrupted\n0\n");
});
