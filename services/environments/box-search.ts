/** Searches what a sandbox really shows (the system, its tools, the mounts) for a second copy of an environment's sources. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox, SandboxRuntime } from "../sandbox/runtime.ts";
import { boxSpec } from "./box.ts";
import { CopySearch, type SourceCopy } from "./copies.ts";
import { EnvironmentError } from "./errors.ts";
import { type Language, languageOf } from "./frameworks.ts";
import { leadsTo } from "./paths.ts";
import { bareName, sourceOf } from "./sources.ts";
import { readTree, type Tree } from "./tree.ts";
import type { PreparedEnvironment } from "./types.ts";

/** Names of files that may hold sources of a language. */
const EXTENSIONS: Record<Language, readonly string[]> = {
  node: ["js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx", "map"],
  python: ["py", "pyi", "pyx"],
  go: ["go"],
  other: ["js", "cjs", "mjs", "ts", "py", "go", "rs", "c", "h", "java", "rb"],
};

/** Packed packages, which a search of text does not look into: one that is named like the package under test is a copy. */
const PACKED = ["whl", "egg", "pyz", "zip", "tgz", "tar.gz", "crate"];

/** Kernel and devices. */
const NOT_SEARCHED = ["/proc", "/sys", "/dev"];

/** Shorter lines are in every other file; a copy shares many longer ones with its original. */
const LINE_LENGTH = 24;

const LIMITS = { memoryMb: 1024, processes: 64, diskMb: 64 } as const;
const EXEC = { timeoutSeconds: 240, outputBytes: 16 * 1024 * 1024 } as const;

/** Where the search's lines lie in the box. */
const LINES = "/opt/search-lines";

/** Trimmed lines that tell a copy, each once. */
function tellingLines(sources: Tree): string[] {
  const lines = [...sources.values()].flatMap((content) =>
    Buffer.from(content)
      .toString("utf8")
      .split("\n")
      .map((line) => line.trim()),
  );
  return [...new Set(lines)].filter((line) => line.length >= LINE_LENGTH && /\w\W+\w/.test(line)).sort();
}

/**
 * Files anywhere in a fresh sandbox of the environment, its tree apart, that hold a copy of a source, nearest first. Takes seconds: part of an
 * environment's proof, not of its preparation.
 */
export async function findBoxCopies(
  environment: PreparedEnvironment,
  runtime: SandboxRuntime,
): Promise<SourceCopy[]> {
  const { entry, root } = environment;
  const sources = await readTree(root, leadsTo(entry.sources));
  const lines = tellingLines(sources);
  const folder = await mkdtemp(join(tmpdir(), "tadpole-search-"));
  const file = join(folder, "lines");
  await writeFile(file, `${lines.join("\n")}\n`, { mode: 0o644 });
  const sandbox = await openBox(environment, runtime, file);
  try {
    const language = languageOf(entry);
    const searched = await besideTree(sandbox);
    const includes = EXTENSIONS[language].map((extension) => `--include=*.${extension}`);
    const hits =
      lines.length === 0
        ? ""
        : await output(sandbox, ["grep", "-rslaFZ", ...includes, "-f", LINES, "--", ...searched]);
    const search = new CopySearch(sources);
    const copies: SourceCopy[] = [];
    for (const path of hits.split("\0").filter((name) => name !== ""))
      copies.push(...search.compare(path, await sandbox.read(path)));
    return [
      ...copies.sort((a, b) => b.share - a.share),
      ...(await packedCopies(environment, sandbox, searched)),
    ];
  } finally {
    await sandbox.destroy();
    await rm(folder, { recursive: true, force: true });
  }
}

function openBox(environment: PreparedEnvironment, runtime: SandboxRuntime, lines: string): Promise<Sandbox> {
  const fence = randomUUID();
  return runtime.create(
    boxSpec(environment, {
      overlay: [],
      mounts: [...environment.mounts, { source: lines, target: LINES }],
      limits: LIMITS,
    }),
    {
      experiment: "environments",
      slot: `search/${fence}`,
      attempt: 0,
      fence,
      deadline: Date.now() + 2 * EXEC.timeoutSeconds * 1000,
    },
  );
}

/** Everything but the tree, which preparation has compared file by file: what lies beside each folder on the way to it. */
async function besideTree(sandbox: Sandbox): Promise<string[]> {
  const beside: string[] = [];
  let next = "";
  for (const part of sandbox.workdir.split("/").slice(1)) {
    const folder = `${next}/`;
    next = `${folder}${part}`;
    const search = ["find", folder, "-mindepth", "1", "-maxdepth", "1", "!", "-type", "l", "-print0"];
    const found = (await output(sandbox, search)).split("\0");
    beside.push(...found.filter((path) => path !== "" && path !== next && !NOT_SEARCHED.includes(path)));
  }
  return beside;
}

/** A shell's exit codes for a program that cannot be run, or is not there. */
const NOT_RUN = [126, 127];

/** What a search printed: it may find nothing, and folders it must not read are no failure. */
async function output(sandbox: Sandbox, argv: readonly string[]): Promise<string> {
  const result = await sandbox.exec(argv, EXEC);
  if (NOT_RUN.includes(result.exitCode ?? 0))
    throw new EnvironmentError(
      "source-copy",
      `the sandbox cannot be searched: ${argv[0]} does not run in it (${Buffer.from(result.stderr).toString("utf8").trim()})`,
    );
  if (result.exitCode === null || result.timedOut || result.stdoutTruncated)
    throw new EnvironmentError("source-copy", `the search of the sandbox (${argv[0]}) did not reach its end`);
  return Buffer.from(result.stdout).toString("utf8");
}

/** Archives named like the package; none has text to compare. */
async function packedCopies(
  { entry }: PreparedEnvironment,
  sandbox: Sandbox,
  searched: readonly string[],
): Promise<SourceCopy[]> {
  const loose = bareName(sourceOf(entry)).replace(/[-_.]+/g, "[-_.]");
  const tests = PACKED.flatMap((extension, index) => [
    ...(index === 0 ? [] : ["-o"]),
    ...["-iname", `${loose}-[0-9]*.${extension}`],
  ]);
  const found = await output(sandbox, ["find", ...searched, "-type", "f", "(", ...tests, ")", "-print0"]);
  return found
    .split("\0")
    .filter((path) => path !== "")
    .map((file) => ({ source: entry.name, file, share: 1 }));
}
