/** A program of this repository and all that it imports as plain JavaScript files, which run where neither is. */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { dirname, join, normalize, relative } from "node:path";
import { parse } from "acorn";
import type { FileChange } from "../../../core/task.ts";

/**
 * The entry is `main.mjs`; what it imports keeps its place relative to it, packages stand in `node_modules`. Sorted by path, with `/`.
 */
export function standaloneModules(entry: string): FileChange[] {
  const root = commonRoot(entry);
  const files = new Map<string, string>();
  const packages = new Set<string>();
  const visit = (path: string): void => {
    const name = moduleName(root, path);
    if (files.has(name)) return;
    files.set(name, "");
    const imports: string[] = [];
    const code = withImports(stripped(readFileSync(path, "utf8")), (specifier) => {
      if (!specifier.startsWith(".")) {
        if (!specifier.startsWith("node:")) packages.add(specifier);
        return specifier;
      }
      imports.push(normalize(join(dirname(path), specifier)));
      return specifier.replace(/\.ts$/, ".mjs");
    });
    files.set(name, code);
    for (const path of imports) visit(path);
  };
  visit(entry);
  const main = `import "./${moduleName(root, entry)}";\n`;
  const own = [...files, ["main.mjs", main] as const].map(([path, content]) => text(path, content));
  return [...own, ...packageFiles([...packages])].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The module with each specifier that it loads replaced. */
function withImports(code: string, replace: (specifier: string) => string): string {
  let result = "";
  let at = 0;
  for (const node of parse(code, { ecmaVersion: "latest", sourceType: "module" }).body) {
    if (!("source" in node) || node.source == null) continue;
    const { start, end, value } = node.source;
    result += `${code.slice(at, start)}${JSON.stringify(replace(String(value)))}`;
    at = end;
  }
  return result + code.slice(at);
}

/** Services stand side by side: so do their modules. */
const commonRoot = (entry: string): string => dirname(dirname(entry));

function moduleName(root: string, path: string): string {
  const name = relative(root, path);
  if (name.startsWith("..") || !name.endsWith(".ts"))
    throw new Error(`${path} is no module below ${root}: a program that runs alone cannot import it`);
  return name.replace(/\.ts$/, ".mjs");
}

const text = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

/** Types become nothing, and blanks at ends of lines with them. Node says that the function may change; its version is pinned. */
function stripped(source: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source)
      .replace(/[ \t]+$/gm, "")
      .replace(/\n{3,}/g, "\n\n")
      .trimStart();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Installed packages with what they depend on, their JavaScript and package.json alone. */
function packageFiles(names: readonly string[]): FileChange[] {
  const require = createRequire(import.meta.url);
  const found = new Map<string, FileChange>();
  const visited = new Set<string>();
  const visit = (name: string): void => {
    if (visited.has(name)) return;
    visited.add(name);
    const manifest = (require.resolve.paths(name) ?? [])
      .map((folder) => join(folder, name, "package.json"))
      .find((path) => readable(path));
    if (manifest === undefined) throw new Error(`package ${name} is not installed`);
    const folder = dirname(manifest);
    for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }))
      if (path === "package.json" || /^(?!.*node_modules).*\.c?js$/.test(path))
        found.set(
          `${name}/${path}`,
          text(`node_modules/${name}/${path}`, readFileSync(join(folder, path), "utf8")),
        );
    const { dependencies = {} } = JSON.parse(readFileSync(manifest, "utf8")) as {
      readonly dependencies?: Readonly<Record<string, string>>;
    };
    for (const dependency of Object.keys(dependencies)) visit(dependency);
  };
  for (const name of names) visit(name);
  return [...found.values()];
}

function readable(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}
