/** A git repository of a package's published versions, one commit each: a history where a package's own repository cannot be reached. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { explainPackage } from "./absent.ts";
import { readArchive } from "./archive.ts";
import { EnvironmentError } from "./errors.ts";
import { git } from "./git.ts";
import { runTool } from "./install.ts";
import { isProgram, type Tree } from "./tree.ts";

export interface ReleasesOptions {
  /** The registry's name. */
  readonly packageName: string;
  /** First and last version, both included; null = the oldest, the newest. */
  readonly from: string | null;
  readonly to: string | null;
  /** Folder that is made; a bare repository, as `git:<folder>@<ref>` takes it. */
  readonly out: string;
  readonly signal?: AbortSignal;
  readonly log?: (line: string) => void;
}

/** One version and its files. */
export interface Release {
  readonly version: string;
  readonly tree: Tree;
}

const EXACT = /^(\d+)\.(\d+)\.(\d+)$/;
const AUTHOR = "releases <releases@localhost>";
/** Registries differ in when they say that a version was published: a day each from here on. */
const FIRST_DAY = 1_000_000_000;
const DAY = 86_400;

const partsOf = (version: string): number[] => EXACT.exec(version)!.slice(1).map(Number);
const minorOf = (version: string): string => version.slice(0, version.lastIndexOf("."));

/** Pure. Without pre-releases, lowest first. */
export function inOrder(versions: readonly string[]): string[] {
  const compare = (a: string, b: string) => {
    const right = partsOf(b);
    const differs = partsOf(a).map((part, i) => part - right[i]!);
    return differs.find((difference) => difference !== 0) ?? 0;
  };
  return versions.filter((version) => EXACT.test(version)).sort(compare);
}

function countLines(tree: Tree): Map<string, number> {
  const lines = new Map<string, number>();
  for (const [path, content] of tree)
    for (const line of Buffer.from(content).toString("utf8").split("\n"))
      lines.set(`${path}\0${line}`, (lines.get(`${path}\0${line}`) ?? 0) + 1);
  return lines;
}

/** Lines that one tree has and the other has not. */
function distance(a: Tree, b: Tree): number {
  const [left, right] = [countLines(a), countLines(b)];
  return [...new Set([...left.keys(), ...right.keys()])].reduce(
    (sum, line) => sum + Math.abs((left.get(line) ?? 0) - (right.get(line) ?? 0)),
    0,
  );
}

/**
 * Pure. Releases, lowest first, of which each was made from the one before it: patches of a minor version that the next minor version was not made from
 * are left out. It was made from the one that it is nearest to.
 */
export function lineOf(releases: readonly Release[]): Release[] {
  return releases.filter(({ version }, at) => {
    const minor = minorOf(version);
    const next = releases.slice(at).find((release) => minorOf(release.version) !== minor);
    if (next === undefined) return true;
    const patches = releases.filter((release) => minorOf(release.version) === minor);
    const distances = patches.map(({ tree }) => distance(tree, next.tree));
    return (
      patches.findIndex((release) => release.version === version) <= distances.indexOf(Math.min(...distances))
    );
  });
}

/** Pure. The section of a change log that is headed by the version, without its heading; "" where there is none. */
export function sectionOf(changelog: string, version: string): string {
  const lines = changelog.split(/\r?\n/);
  const headed = (line: string) =>
    /^(#{1,4}\s|\*\*|v?\d+\.\d+\.\d+\b)/.test(line) && /\d+\.\d+\.\d+/.test(line);
  const exact = new RegExp(`(^|[^\\d.])v?${version.replaceAll(".", "\\.")}($|[^\\d.-])`);
  const start = lines.findIndex((line) => headed(line) && exact.test(line));
  if (start < 0) return "";
  const length = lines.slice(start + 1).findIndex(headed);
  const section = lines.slice(start + 1, length < 0 ? undefined : start + 1 + length);
  return section
    .filter((line) => !/^[=-]{3,}$/.test(line))
    .join("\n")
    .trim();
}

function messageOf(version: string, tree: Tree): string {
  const file = [...tree.keys()].find((path) =>
    /^(changelog|changes|history)(\.(md|txt|markdown))?$/i.test(path),
  );
  const section = file === undefined ? "" : sectionOf(Buffer.from(tree.get(file)!).toString("utf8"), version);
  return section === "" ? `${version}\n` : `${version}\n\n${section}\n`;
}

const data = (content: Uint8Array): Uint8Array[] => [
  Buffer.from(`data ${content.byteLength}\n`),
  content,
  Buffer.from("\n"),
];

/** Pure. What `git fast-import` reads: author, dates and modes follow from the releases, so that everyone gets the same hashes. */
export function streamOf(releases: readonly Release[]): Uint8Array {
  const parts: Uint8Array[] = [];
  const line = (text: string) => parts.push(Buffer.from(`${text}\n`));
  for (const [index, { version, tree }] of releases.entries()) {
    const time = FIRST_DAY + index * DAY;
    line("commit refs/heads/main");
    line(`author ${AUTHOR} ${time} +0000`);
    line(`committer ${AUTHOR} ${time} +0000`);
    parts.push(...data(Buffer.from(messageOf(version, tree))));
    line("deleteall");
    for (const [path, content] of tree) {
      const quoted = path.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
      line(`M ${isProgram(content) ? "100755" : "100644"} inline "${quoted}"`);
      parts.push(...data(content));
    }
    line(`reset refs/tags/v${version}`);
    line("from refs/heads/main\n");
  }
  return Buffer.concat(parts);
}

/** Makes the repository and returns its versions, oldest first. Throws `EnvironmentError`; nothing is left of one that is refused. */
export async function releasesRepository(options: ReleasesOptions): Promise<readonly string[]> {
  const { packageName, out, signal, log } = options;
  if (existsSync(out))
    throw new EnvironmentError("unknown", `--out: expected a folder that is not there, found ${out}`);
  const wanted = await versionsOf(options);
  const folder = await mkdtemp(join(tmpdir(), "releases-"));
  try {
    const releases: Release[] = [];
    for (const version of wanted) {
      log?.(`${packageName}@${version}`);
      releases.push({ version, tree: await treeOf(packageName, version, folder, signal) });
    }
    const line = lineOf(releases);
    await mkdir(out, { recursive: true });
    await git(out, ["init", "--quiet", "--bare", "--initial-branch=main"], { signal });
    await git(out, ["fast-import", "--quiet"], { signal, input: streamOf(line) });
    return line.map(({ version }) => version);
  } catch (error) {
    await rm(out, { recursive: true, force: true });
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function versionsOf({ packageName, from, to, signal }: ReleasesOptions): Promise<readonly string[]> {
  const view = ["view", packageName, "versions", "--json"];
  const text = await runTool("npm", view, { cwd: tmpdir(), signal }).catch((error: unknown) => {
    throw explainPackage(packageName, error);
  });
  const known = inOrder([JSON.parse(text) as string | string[]].flat());
  const positionOf = (option: string, version: string) => {
    const at = known.indexOf(version);
    if (at >= 0) return at;
    throw new EnvironmentError(
      "unknown",
      `${option}: expected a release of ${packageName} (${known.join(", ")}), found ${version}`,
    );
  };
  const first = from === null ? 0 : positionOf("--from", from);
  const last = to === null ? known.length - 1 : positionOf("--to", to);
  if (first > last)
    throw new EnvironmentError("unknown", `--from: expected a release up to --to ${to}, found ${from}`);
  return known.slice(first, last + 1);
}

/** npm's own client compares the archive with the registry's integrity. */
async function treeOf(name: string, version: string, folder: string, signal?: AbortSignal): Promise<Tree> {
  const pack = ["pack", "--json", "--ignore-scripts", `${name}@${version}`, "--pack-destination", folder];
  const [packed] = JSON.parse(await runTool("npm", pack, { cwd: folder, signal })) as { filename: string }[];
  const archive = readArchive(
    `${name}@${version}`,
    await readFile(join(folder, packed!.filename.replace("@", "").replaceAll("/", "-"))),
  );
  // Whatever its one folder is called.
  return new Map([...archive].map(([path, content]) => [path.replace(/^[^/]+\//, ""), content] as const));
}
