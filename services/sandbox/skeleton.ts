/** Made-up parts of a sandbox's system, on the host: accounts, hosts, the script that Node programs load. */
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { REPEATABLE_PATH } from "./inside.ts";
import { ownerName } from "./label.ts";
import { sha256 } from "./tree/manifest.ts";

const ETC: Readonly<Record<string, string>> = {
  passwd: "root:x:0:0:root:/:/bin/sh\nagent:x:1000:1000:agent:/tmp:/bin/bash\n",
  group: "root:x:0:\nagent:x:1000:\n",
  hosts: "127.0.0.1 localhost sandbox\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
  // Trees belong to whoever unpacked them; git refuses a stranger's without this.
  gitconfig: "[safe]\n\tdirectory = *\n[user]\n\tname = agent\n\temail = agent@sandbox\n",
};

/**
 * Loaded before every Node program inside, so that what a command prints is the same each time. Node writes to a pipe without
 * waiting, and loses what is unwritten when it ends by an exception: this makes it wait. Random numbers start from one seed in
 * every process, else what an agent sees of them (a random token in an error, say) could not be seen again.
 */
const REPEATABLE = `"use strict";
require("node:v8").setFlagsFromString("--random-seed=20260907");
for (const name of ["stdout", "stderr"]) {
  const original = Object.getOwnPropertyDescriptor(process, name);
  const get = () => {
    const stream = original.get.call(process);
    stream._handle?.setBlocking?.(true);
    Object.defineProperty(process, name, original);
    return stream;
  };
  Object.defineProperty(process, name, { ...original, get });
}
`;

/** Copied as they are: without them programs are not found (links in /etc/alternatives) or start slowly. */
const ETC_COPIED = ["alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"];

/** Made once per content and shared by every process that uses the same root. */
export function makeSkeleton(root: string): string {
  const folder = `${root}/.system-${sha256(JSON.stringify([ETC, ETC_COPIED, REPEATABLE])).slice(0, 12)}`;
  if (existsSync(folder)) return folder;
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const staging = `${root}/${ownerName("new")}`;
  for (const name of ["etc", "empty", "local/bin"]) mkdirSync(`${staging}/${name}`, { recursive: true });
  writeFileSync(`${staging}/local/bin/node`, "");
  writeFileSync(`${staging}${REPEATABLE_PATH.replace("/usr", "")}`, REPEATABLE);
  for (const [name, text] of Object.entries(ETC)) writeFileSync(`${staging}/etc/${name}`, text);
  for (const name of ETC_COPIED)
    if (existsSync(`/etc/${name}`))
      cpSync(`/etc/${name}`, `${staging}/etc/${name}`, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(staging, folder);
  } catch (error) {
    rmSync(staging, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
