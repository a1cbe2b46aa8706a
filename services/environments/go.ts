/** Files of a Go module entry: its tree, its vendored dependencies, the host's Go and what of it is compiled beforehand. */
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PinnedEntry } from "./catalogue.ts";
import { EnvironmentError } from "./errors.ts";
import { environmentsFolder } from "./folders.ts";
import { GO_CACHE_TARGET, GO_TARGET, goEnv } from "./frameworks.ts";
import { installOnce, runTool } from "./install.ts";
import { assertPaths, type Gathered, type GatherOptions, isKept } from "./materials.ts";
import { PLATFORM } from "./npm.ts";
import { hashTree, readTree, type Tree, writeTree } from "./tree.ts";

const PREPARATION = "1";

/** Hands compiled packages to the compiler: GOCACHEPROG. */
const SERVE = fileURLToPath(new URL("./go-cache/serve.cjs", import.meta.url));

/** Variables that decide what is compiled; the same in the sandbox (`goEnv`), so that its compiler finds what was compiled here. */
const BUILD_ENV = {
  CGO_ENABLED: "0",
  GOTOOLCHAIN: "local",
  GOSUMDB: "off",
  GOWORK: "off",
  GOTELEMETRY: "off",
};

export async function gatherGo(entry: PinnedEntry, options: GatherOptions): Promise<Gathered> {
  const tree = await fetchModule(entry, options);
  assertPaths(entry, tree);
  return { tree, ...(await goParts(entry, tree, options)) };
}

/** All but the tree of an environment of Go. */
export async function goParts(
  entry: PinnedEntry,
  tree: Tree,
  options: GatherOptions,
): Promise<Omit<Gathered, "tree">> {
  if (!tree.has("go.mod"))
    throw new EnvironmentError(
      "install",
      `${entry.source}: expected a go.mod in the module's root, found none`,
    );
  const host = await goHost(options.signal);
  const { modules, cache } = await vendorAndCompile(entry, tree, host.version, options);
  return {
    modules,
    tools: { go: host.version, preparation: PREPARATION, platform: PLATFORM },
    env: goEnv(modules.has("modules.txt")),
    mounts: [
      { source: host.root, target: GO_TARGET },
      { source: join("..", cache), target: GO_CACHE_TARGET },
    ],
  };
}

/** The Go on this host's PATH. */
async function goHost(signal?: AbortSignal): Promise<{ readonly version: string; readonly root: string }> {
  const output = await runTool("go", ["env", "GOVERSION", "GOROOT"], { cwd: "/", env: BUILD_ENV, signal });
  const [version, root] = output.trim().split("\n") as [string, string];
  return { version, root };
}

/** The module from the proxy, without what the entry leaves out. Throws when it is not what the pin says. */
async function fetchModule(entry: PinnedEntry, options: GatherOptions): Promise<Tree> {
  const { sum, tree } = await downloadModule(`${entry.packageName}@v${entry.version}`, options);
  if (sum !== entry.integrity)
    throw new EnvironmentError("install", `${entry.source}: expected ${entry.integrity}, found ${sum}`);
  return new Map([...tree].filter(([path]) => isKept(entry, path)));
}

/** A module's files from the proxy and, computed from them, their hash as in go.sum. `module` is `<path>@v<version>`. */
export async function downloadModule(
  module: string,
  options: Pick<GatherOptions, "dataFolder" | "signal">,
): Promise<{ readonly sum: string; readonly tree: Tree }> {
  const text = await runTool("go", ["mod", "download", "-json", module], {
    cwd: tmpdir(),
    env: { ...BUILD_ENV, ...moduleCache(options.dataFolder) },
    signal: options.signal,
  }).catch((cause: Error) => {
    // On stdout, as JSON.
    const [, said] = /"Error": ("(?:[^"\\]|\\.)*")/.exec(cause.message) ?? [];
    if (said === undefined) throw cause;
    throw new EnvironmentError("install", `go:${module}: ${JSON.parse(said)}`, { cause });
  });
  const { Dir } = JSON.parse(text) as { readonly Dir: string };
  const tree = await readTree(Dir);
  return { sum: moduleHash(module, tree), tree };
}

/** Downloads are kept in the data folder, writable so that they can be removed with it. */
function moduleCache(dataFolder: string): Record<string, string> {
  return {
    GOMODCACHE: join(environmentsFolder(dataFolder), "downloads", "go"),
    GOFLAGS: "-modcacherw -mod=mod",
    GOWORK: "off",
  };
}

/** The hash of go.sum: sha256 over the sorted `<sha256>  <module>@<version>/<path>` lines (golang.org/x/mod/sumdb/dirhash, Hash1). */
function moduleHash(module: string, files: Tree): string {
  const hash = createHash("sha256");
  const byName = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  for (const path of [...files.keys()].sort(byName))
    hash.update(`${createHash("sha256").update(files.get(path)!).digest("hex")}  ${module}/${path}\n`);
  return `h1:${hash.digest("base64")}`;
}

/** What most tests are built on, with all that these depend on. */
const STANDARD = [
  "testing/internal/testdeps",
  "testing/quick",
  "database/sql/driver",
  "encoding/json",
  "net/url",
  "regexp",
];

/** Those being compiled by this process, by folder: several environments are prepared at once. */
const compiling = new Map<string, Promise<string>>();

/**
 * Compiled packages of the standard library that most environments need, once per data folder and Go. Each environment's cache begins as a copy: what is
 * compiled does not depend on the module that needs it.
 */
async function standardObjects(version: string, options: GatherOptions): Promise<string> {
  const { dataFolder, signal, log } = options;
  const flags = "-trimpath -buildvcs=false";
  const what = [version, flags, process.arch, ...STANDARD].join("\0");
  const name = `go-std-${createHash("sha256").update(what).digest("hex").slice(0, 12)}`;
  const place = join(environmentsFolder(dataFolder), name);
  const known = compiling.get(place);
  // Another one's abort is not ours.
  if (known !== undefined) return known.catch(() => standardObjects(version, options));
  const compiled = installOnce({
    dataFolder,
    name,
    content: "objects",
    fill: async (folder) => {
      const objects = join(folder, "objects");
      await mkdir(objects);
      const env = { ...BUILD_ENV, GOFLAGS: flags, GOPROXY: "off", GOCACHE: objects };
      await runTool("go", ["build", ...STANDARD], { cwd: folder, env, signal });
      await removeNotes(objects);
    },
    log: () => log?.("compiling what Go's environments are built on"),
  }).finally(() => compiling.delete(place));
  compiling.set(place, compiled);
  return compiled;
}

/** Notes of the tool's own, with times in them. */
async function removeNotes(objects: string): Promise<void> {
  for (const note of ["trim.txt", "README", "testexpire.txt"]) await rm(join(objects, note), { force: true });
}

/**
 * The packages of other modules that sources and tests import (`go mod vendor`), pinned by the module's own go.sum; and, compiled, these and those
 * of the standard library. Nothing of the module itself is compiled: its objects would be a second copy of it.
 */
async function vendorAndCompile(
  entry: PinnedEntry,
  tree: Tree,
  version: string,
  options: GatherOptions,
): Promise<{ readonly modules: Tree; readonly cache: string }> {
  const scratch = await mkdtemp(join(tmpdir(), "tadpole-go-"));
  const { signal, dataFolder } = options;
  try {
    await writeTree(tree, join(scratch, "repo"));
    const cwd = join(scratch, "repo");
    const fetching = { ...BUILD_ENV, ...moduleCache(dataFolder), GOFLAGS: "-modcacherw -mod=readonly" };
    await runTool("go", ["mod", "vendor"], { cwd, env: fetching, signal });
    const vendored = await readTree(join(cwd, "vendor")).catch(() => new Map<string, Uint8Array>());
    const flags = `${goEnv(vendored.has("modules.txt")).GOFLAGS!} -buildvcs=false`;
    const env = { ...BUILD_ENV, GOFLAGS: flags, GOPROXY: "off", GOMODCACHE: join(scratch, "none") };
    const format = "{{if and (or .Standard (not .Module.Main)) (not .ForTest)}}{{.ImportPath}}{{end}}";
    const listed = await runTool("go", ["list", "-deps", "-test", "-f", format, "./..."], {
      cwd,
      env,
      signal,
    });
    const packages = [...new Set(listed.split("\n"))]
      .filter((name) => name !== "" && name !== "unsafe")
      .sort();
    const serve = await readFile(SERVE, "utf8");
    const what = [version, flags, process.arch, hashTree(vendored), serve, ...STANDARD, ...packages].join(
      "\0",
    );
    const name = `go-cache-${createHash("sha256").update(what).digest("hex").slice(0, 12)}`;
    await installOnce({
      dataFolder,
      name,
      content: "cache",
      fill: async (folder) => {
        const objects = join(folder, "cache", "objects");
        await cp(await standardObjects(version, options), objects, { recursive: true });
        await writeFile(join(folder, "cache", "serve.cjs"), serve);
        await runTool("go", ["build", ...packages], { cwd, env: { ...env, GOCACHE: objects }, signal });
        await removeNotes(objects);
      },
      log: () => options.log?.(`compiling ${packages.length} packages that ${entry.name} is built on`),
    });
    return { modules: vendored, cache: join(name, "cache") };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
