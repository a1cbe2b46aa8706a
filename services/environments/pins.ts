/** The files that pin what environments are made of: npm lockfiles, pip requirements with hashes, Go's go.sum. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { EnvironmentError } from "./errors.ts";

/** Throws `EnvironmentError("catalogue")` naming the file. */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    throw new EnvironmentError("catalogue", `${file}: cannot be read (${(cause as Error).message})`, {
      cause,
    });
  }
}

/** Throws `EnvironmentError("catalogue")` naming file and field. */
export function parseWith<T>(file: string, schema: z.ZodType<T>, read: () => unknown): T {
  let value: unknown;
  try {
    value = read();
  } catch (cause) {
    throw new EnvironmentError("catalogue", `${file}: ${(cause as Error).message.split("\n")[0]}`, { cause });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new EnvironmentError("catalogue", `${file}: ${issue.path.join(".") || "the file"}: ${issue.message}`);
}

const packageSchema = z.object({ dependencies: z.record(z.string(), z.string()).default({}) });

const needs = z.record(z.string(), z.string()).optional();

const lockedSchema = z.object({
  version: z.string().optional(),
  integrity: z.string().optional(),
  resolved: z.string().optional(),
  dependencies: needs,
  optionalDependencies: needs,
  peerDependencies: needs,
  devDependencies: needs,
});

const lockSchema = z.object({ packages: z.record(z.string(), lockedSchema) });

/** One package of a lockfile, as far as it is read here. */
export type LockedPackage = z.infer<typeof lockedSchema>;

export interface NpmLock {
  /** Holds package.json and package-lock.json. */
  readonly folder: string;
  /** sha256 (hex) of both files: what an installation is made from. */
  readonly hash: string;
  readonly dependencies: Readonly<Record<string, string>>;
  /** By path from the installation's root: `node_modules/a`, `node_modules/a/node_modules/b`. */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** Every package must have an integrity and none a download address, so that any registry or mirror serves. */
export async function readNpmLock(folder: string): Promise<NpmLock> {
  const packageFile = join(folder, "package.json");
  const lockFile = join(folder, "package-lock.json");
  const [packageText, lockText] = await Promise.all([readText(packageFile), readText(lockFile)]);
  const { dependencies } = parseWith(packageFile, packageSchema, () => JSON.parse(packageText));
  const { packages } = parseWith(lockFile, lockSchema, () => JSON.parse(lockText));
  for (const [path, locked] of Object.entries(packages)) {
    if (path === "") continue;
    if (locked.integrity === undefined)
      throw new EnvironmentError("catalogue", `${lockFile}: ${path} has no integrity`);
    if (locked.resolved !== undefined)
      throw new EnvironmentError(
        "catalogue",
        `${lockFile}: ${path} has a download address; none is expected`,
      );
  }
  const hash = createHash("sha256").update(`${packageText}\0${lockText}`).digest("hex");
  return { folder, hash, dependencies, packages };
}

export interface PinnedRequirement {
  readonly name: string;
  readonly version: string;
  /** sha256 (hex) of every file that may be installed. */
  readonly hashes: readonly string[];
}

/** PyPI's normal form of a project's name (PEP 503). */
export function normalName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}

/**
 * A pip requirements file of lines `name==version --hash=sha256:…` (more hashes and `\` at line ends allowed), by normal name.
 * Throws `EnvironmentError("catalogue")` naming file and line for anything else: nothing is installed that is not pinned.
 */
export function parseRequirements(file: string, text: string): ReadonlyMap<string, PinnedRequirement> {
  const found = new Map<string, PinnedRequirement>();
  const joined = text.replace(/\\\r?\n/g, " ");
  for (const raw of joined.split("\n")) {
    const line = raw.replace(/(^|\s)#.*$/, "").trim();
    if (line === "") continue;
    const match =
      /^([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)((?:\s+--hash=sha256:[0-9a-f]{64})+)$/.exec(line);
    if (match === null)
      throw new EnvironmentError(
        "catalogue",
        `${file}: ${JSON.stringify(line.slice(0, 80))}: expected <name>==<version> --hash=sha256:<64 hex digits>`,
      );
    const name = normalName(match[1]!);
    if (found.has(name)) throw new EnvironmentError("catalogue", `${file}: ${name} is pinned twice`);
    const hashes = [...match[3]!.matchAll(/sha256:([0-9a-f]{64})/g)].map(([, hash]) => hash!);
    found.set(name, { name: match[1]!, version: match[2]!, hashes });
  }
  return found;
}

/**
 * A file of `go.sum`'s form: `<module> <version> h1:<base64>` for each module under test, by `<module>@<version>`. What those modules need is
 * pinned by their own go.sum.
 */
export function parseGoSum(file: string, text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const match = /^(\S+) (v\S+) (h1:[A-Za-z0-9+/]{43}=)$/.exec(line.trim());
    if (match === null)
      throw new EnvironmentError(
        "catalogue",
        `${file}: ${JSON.stringify(line.slice(0, 80))}: expected <module> v<version> h1:<hash>`,
      );
    if (!match[2]!.endsWith("/go.mod")) found.set(`${match[1]}@${match[2]}`, match[3]!);
  }
  return found;
}
