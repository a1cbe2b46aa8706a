/** `environment.json`: what is on record about a prepared environment, and whether its folder still agrees. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import { REPORT_FORMATS } from "../../core/task.ts";
import { entrySchema } from "./entry-schema.ts";
import { EnvironmentError } from "./errors.ts";
import { environmentsFolder } from "./folders.ts";
import { commandsOf, limitsOfEntry } from "./frameworks.ts";
import { modulesMount } from "./mount.ts";
import { hashTree, readTree } from "./tree.ts";
import type { PreparedEnvironment } from "./types.ts";

const recordSchema = z.strictObject({
  key: z.string(),
  packageName: z.string(),
  version: z.string(),
  integrity: z.string(),
  entry: entrySchema,
  /** Versions that the tree and its baseline depend on. */
  tools: z.record(z.string(), z.string()),
  /** sha256 (hex) of the tree and of the modules, by `hashTree`. */
  treeHash: z.string(),
  modulesHash: z.string(),
  /** What the tests are run by, with which variables; absent = tape's way. */
  commands: z
    .array(
      z.strictObject({
        scope: z.string(),
        argv: z.array(z.string()),
        format: z.enum(REPORT_FORMATS),
        reportFile: z.string().nullable(),
      }),
    )
    .optional(),
  env: z.record(z.string(), z.string()).optional(),
  /** Read-only mounts of the host's own tools, beside the modules. */
  mounts: z.array(z.strictObject({ source: z.string(), target: z.string() })).optional(),
  baseline: z.record(z.string(), z.enum(["passed", "failed", "skipped", "xfail"])),
  baselineRuns: z.int().min(0),
  cpuSeconds: z.number().min(0),
  unstable: z.array(z.string()),
});

export type EnvironmentRecord = z.infer<typeof recordSchema>;

export const RECORD_FILE = "environment.json";

export function environmentFolder(dataFolder: string, key: string): string {
  return join(environmentsFolder(dataFolder), key);
}

/** The entry with the limits its framework needs. */
function withLimits(entry: EnvironmentRecord["entry"]): EnvironmentRecord["entry"] {
  const limits = limitsOfEntry(entry);
  return Object.keys(limits).length === 0 ? entry : { ...entry, limits };
}

export function toPrepared(record: EnvironmentRecord, folder: string): PreparedEnvironment {
  return {
    key: record.key,
    entry: withLimits(record.entry),
    root: join(folder, "root"),
    modules: join(folder, "modules"),
    image: record.entry.image ?? null,
    mounts: [
      modulesMount({ entry: record.entry, modules: join(folder, "modules") }),
      ...(record.mounts ?? []).map(({ source, target }) => ({ source: resolve(folder, source), target })),
    ],
    env: record.env ?? {},
    commands: record.commands ?? commandsOf(record.entry, () => false),
    baseline: record.baseline,
    baselineRuns: record.baselineRuns,
    cpuSeconds: record.cpuSeconds,
    unstable: record.unstable,
  };
}

/** Reads the record and compares the folder with it. Throws `EnvironmentError`: `missing`, or `damaged` with what differs. */
export async function readRecord(dataFolder: string, key: string): Promise<EnvironmentRecord> {
  const folder = environmentFolder(dataFolder, key);
  const file = join(folder, RECORD_FILE);
  const damaged = (what: string, cause?: unknown): EnvironmentError =>
    new EnvironmentError("damaged", `environment ${folder} is damaged: ${what}`, { cause });
  if (!existsSync(folder))
    throw new EnvironmentError(
      "missing",
      `no environment ${key} is prepared in ${environmentsFolder(dataFolder)}`,
    );
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (cause) {
    throw damaged(`${RECORD_FILE} cannot be read`, cause);
  }
  let record: EnvironmentRecord;
  try {
    record = recordSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw damaged(`${RECORD_FILE} is no record of an environment`, cause);
  }
  if (record.key !== key) throw damaged(`${RECORD_FILE} is the record of ${record.key}`);
  for (const [name, hash] of [
    ["root", record.treeHash],
    ["modules", record.modulesHash],
  ] as const) {
    let found: string;
    try {
      found = hashTree(await readTree(join(folder, name)));
    } catch (cause) {
      throw damaged(`${name} cannot be read`, cause);
    }
    if (found !== hash) throw damaged(`${name} is not what was prepared (sha256 ${found}, expected ${hash})`);
  }
  for (const { source } of record.mounts ?? [])
    if (!existsSync(resolve(folder, source))) throw damaged(`${source}, which it mounts, is gone`);
  return record;
}
