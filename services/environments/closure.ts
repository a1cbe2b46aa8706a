/** Which files of the installed packages an environment's sources and tests can load: all that its sandbox gets as node_modules. */
import { readFile } from "node:fs/promises";
import { createRequire, isBuiltin } from "node:module";
import { isAbsolute, join, relative, sep } from "node:path";
import { parse } from "acorn";
import { full } from "acorn-walk";
import type { PinnedEntry } from "./catalogue.ts";
import { EnvironmentError } from "./errors.ts";
import type { Tree } from "./tree.ts";

/** Literal arguments of `require(…)` in a CommonJS file, in order, each once. Throws a SyntaxError on anything else. */
export function requiredNames(source: string): string[] {
  const program = parse(source, {
    ecmaVersion: "latest",
    sourceType: "script",
    allowReturnOutsideFunction: true,
    allowHashBang: true,
  });
  const found: { readonly start: number; readonly name: string }[] = [];
  full(program, (node) => {
    if (node.type !== "CallExpression") return;
    const call = node as unknown as {
      readonly start: number;
      readonly callee: { readonly type: string; readonly name?: string };
      readonly arguments: readonly { readonly type: string; readonly value?: unknown }[];
    };
    const [argument] = call.arguments;
    if (call.callee.type !== "Identifier" || call.callee.name !== "require") return;
    if (argument?.type === "Literal" && typeof argument.value === "string")
      found.push({ start: call.start, name: argument.value });
  });
  found.sort((a, b) => a.start - b.start);
  return [...new Set(found.map(({ name }) => name))];
}

interface PackagePath {
  /** Folder of the innermost package the file is in, relative to the installed node_modules. */
  readonly folder: string;
  readonly packageName: string;
}

/** Splits `a/node_modules/@b/c/lib/x.js` into the package `@b/c` and its folder. */
export function innermostPackage(path: string): PackagePath {
  const marker = "node_modules/";
  const at = path.lastIndexOf(marker);
  const start = at === -1 ? 0 : at + marker.length;
  const parts = path.slice(start).split("/");
  const packageName = parts[0]!.startsWith("@") ? `${parts[0]}/${parts[1]}` : parts[0]!;
  return { folder: path.slice(0, start) + packageName, packageName };
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

/**
 * Follows literal `require` calls from the entry's sources and tests and returns the files outside its own tree, by their path below
 * /repo/node_modules. A file rather than a package is the unit, because a few files are loaded of packages that have hundreds, and
 * because what is not there cannot hold a copy of the answer. `require` of what is not installed is left to fail as it would.
 *
 * Throws `EnvironmentError("source-copy")` where something loads the package under test, or another version of it, from node_modules.
 */
export async function collectModules(entry: PinnedEntry, tree: Tree, installed: string): Promise<Tree> {
  const own = entry.packageName;
  const ownNested = `${own}/node_modules`;
  const files = new Map<string, Uint8Array>();
  /** Installed folder of each package in the result: two folders under one name cannot both be there. */
  const folders = new Map<string, string>();
  const seen = new Set<string>();
  const queue = [...entry.sources, ...entry.tests].map((path) => `${own}/${path}`);

  const target = (path: string): string =>
    isInside(path, ownNested) ? path.slice(ownNested.length + 1) : path;
  const add = async (path: string): Promise<void> => {
    files.set(target(path), await readFile(join(installed, path)));
  };
  const visitModule = async (path: string, from: string): Promise<void> => {
    const { folder, packageName } = innermostPackage(path);
    if (packageName === own)
      throw new EnvironmentError(
        "source-copy",
        `${entry.name}: ${from} needs ${path}, a copy of the package's own source`,
      );
    const other = folders.get(target(folder));
    if (other !== undefined && other !== folder)
      throw new EnvironmentError("install", `${entry.name}: ${folder} and ${other} are needed in one place`);
    if (other === undefined) {
      folders.set(target(folder), folder);
      await add(`${folder}/package.json`);
    }
    await add(path);
  };

  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    if (seen.has(path) || !/\.(js|cjs)$/.test(path)) continue;
    seen.add(path);
    const inTree = isInside(path, own) && !isInside(path, ownNested);
    const content = inTree ? tree.get(path.slice(own.length + 1)) : await readFile(join(installed, path));
    if (content === undefined) continue;
    let names: string[];
    try {
      names = requiredNames(Buffer.from(content).toString("utf8"));
    } catch (cause) {
      throw new EnvironmentError(
        "install",
        `${entry.name}: ${path} is no CommonJS file: ${(cause as Error).message}`,
        {
          cause,
        },
      );
    }
    const require = createRequire(join(installed, path));
    for (const name of names.filter((candidate) => !isBuiltin(candidate))) {
      let resolved: string;
      try {
        resolved = require.resolve(name);
      } catch {
        continue;
      }
      const next = relative(installed, resolved).split(sep).join("/");
      if (next.startsWith("../") || isAbsolute(next)) continue;
      const nextInTree = isInside(next, own) && !isInside(next, ownNested);
      if (!nextInTree || !inTree) await visitModule(next, path);
      queue.push(next);
    }
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}
