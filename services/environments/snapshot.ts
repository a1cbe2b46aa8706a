/** The git history a sandbox sees: one commit and nothing else, made from a tree and asserted. */
import { createHash } from "node:crypto";
import { deflateSync, inflateSync } from "node:zlib";
import { EnvironmentError } from "./errors.ts";
import { isProgram, type Tree } from "./tree.ts";

/** Everything in the commit is fixed: equal trees have equal commits. Its time is that of every file of a tree. */
const IDENTITY = "snapshot <snapshot@localhost> 499162500 +0000";
const MESSAGE = "Snapshot\n";
const BRANCH = "refs/heads/main";

const CONFIG =
  "[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = false\n\tlogallrefupdates = false\n";

interface GitObject {
  readonly id: string;
  readonly type: "blob" | "tree" | "commit";
  readonly body: Uint8Array;
}

function objectOf(type: GitObject["type"], body: Uint8Array): GitObject {
  const id = createHash("sha1").update(`${type} ${body.byteLength}\0`).update(body).digest("hex");
  return { id, type, body };
}

function fileOf({ id, type, body }: GitObject): readonly [string, Uint8Array] {
  const whole = Buffer.concat([Buffer.from(`${type} ${body.byteLength}\0`), body]);
  return [`.git/objects/${id.slice(0, 2)}/${id.slice(2)}`, deflateSync(whole)];
}

interface Listed {
  readonly name: string;
  readonly mode: string;
  readonly id: string;
}

/** Git sorts folders as if their names ended with `/`. */
function treeBody(entries: readonly Listed[]): Uint8Array {
  const sortName = ({ name, mode }: Listed) => Buffer.from(mode === "40000" ? `${name}/` : name);
  const sorted = [...entries].sort((a, b) => Buffer.compare(sortName(a), sortName(b)));
  return Buffer.concat(
    sorted.flatMap(({ mode, name, id }) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")]),
  );
}

/** Targets of symbolic links, by their paths. */
export type Links = ReadonlyMap<string, string>;

const NO_LINKS: Links = new Map();

interface Tracked {
  readonly path: string;
  readonly mode: number;
  readonly blob: GitObject;
}

/** Everything that a commit of the tree has, in no order. */
function trackedOf(tree: Tree, links: Links): Tracked[] {
  return [
    ...[...tree].map(([path, content]) => ({
      path,
      mode: isProgram(content) ? 0o100755 : 0o100644,
      blob: objectOf("blob", content),
    })),
    ...[...links].map(([path, target]) => ({
      path,
      mode: 0o120000,
      blob: objectOf("blob", Buffer.from(target)),
    })),
  ];
}

/** Objects of the tree's files and folders; the last one is the root's. */
function treeObjects(tracked: readonly Tracked[]): GitObject[] {
  interface Folder {
    readonly files: Listed[];
    readonly folders: Map<string, Folder>;
  }
  const newFolder = (): Folder => ({ files: [], folders: new Map() });
  const root = newFolder();
  const objects: GitObject[] = [];
  for (const { path, mode, blob } of tracked) {
    const parts = path.split("/");
    let folder = root;
    for (const part of parts.slice(0, -1)) {
      const next = folder.folders.get(part) ?? newFolder();
      folder.folders.set(part, next);
      folder = next;
    }
    objects.push(blob);
    folder.files.push({ name: parts.at(-1)!, mode: mode.toString(8), id: blob.id });
  }
  const visit = (folder: Folder): string => {
    const folders = [...folder.folders].map(([name, inner]) => ({ name, mode: "40000", id: visit(inner) }));
    const object = objectOf("tree", treeBody([...folder.files, ...folders]));
    objects.push(object);
    return object.id;
  };
  visit(root);
  return objects;
}

/** git's index, version 2, without what stat would say: git looks at each file once and fills it in. */
function indexOf(tracked: readonly Tracked[]): Uint8Array {
  const byName = (a: Tracked, b: Tracked) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path));
  const entries = [...tracked].sort(byName).map(({ path, mode, blob }) => {
    const name = Buffer.from(path);
    const fixed = Buffer.alloc(62);
    fixed.writeUInt32BE(mode, 24);
    Buffer.from(blob.id, "hex").copy(fixed, 40);
    fixed.writeUInt16BE(Math.min(name.length, 0xfff), 60);
    // Padded with 1 to 8 NULs to a multiple of eight.
    return Buffer.concat([fixed, name, Buffer.alloc(8 - ((62 + name.length) % 8))]);
  });
  const head = Buffer.alloc(12);
  head.write("DIRC");
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(entries.length, 8);
  const body = Buffer.concat([head, ...entries]);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}

/** The files of a `.git` folder whose only commit is this tree with these links. Pure; the same tree gives the same bytes. */
export function snapshotOf(tree: Tree, links: Links = NO_LINKS): Tree {
  const tracked = trackedOf(tree, links);
  const objects = treeObjects(tracked);
  const root = objects.at(-1)!.id;
  const commit = objectOf(
    "commit",
    Buffer.from(`tree ${root}\nauthor ${IDENTITY}\ncommitter ${IDENTITY}\n\n${MESSAGE}`),
  );
  return new Map<string, Uint8Array>([
    [".git/HEAD", Buffer.from(`ref: ${BRANCH}\n`)],
    [".git/config", Buffer.from(CONFIG)],
    [".git/index", indexOf(tracked)],
    [`.git/${BRANCH}`, Buffer.from(`${commit.id}\n`)],
    ...[...objects, commit].map(fileOf),
  ]);
}

/** Inside `.git`, beside objects; anything else may lead to another history. */
const ALLOWED = new Set([".git/HEAD", ".git/config", ".git/index", `.git/${BRANCH}`]);

const isHistory = (path: string): boolean => path === ".git" || path.startsWith(".git/");

function violation(name: string, what: string): EnvironmentError {
  return new EnvironmentError(
    "history",
    `${name}: ${what}; expected a history of one commit and nothing else`,
  );
}

/** What a path inside `.git` that must not be there is, in words. */
function whatIs(path: string): string {
  const rest = path.slice(".git/".length);
  if (rest.startsWith("logs/")) return `a reflog (${path})`;
  if (rest === "refs/stash") return `a stash (${path})`;
  if (rest === "packed-refs") return `packed refs (${path})`;
  if (rest.startsWith("refs/remotes/")) return `a remote's branch (${path})`;
  if (rest.startsWith("refs/")) return `another ref (${path})`;
  if (rest.startsWith("objects/pack/")) return `a pack of objects (${path})`;
  if (rest.startsWith("objects/info/")) return `another place for objects (${path})`;
  if (/(^|\/)(FETCH|ORIG|MERGE|CHERRY_PICK|REVERT)_HEAD$/.test(rest))
    return `the head of another commit (${path})`;
  if (rest.startsWith("hooks/")) return `a hook (${path})`;
  return `an unexpected file (${path})`;
}

/**
 * Pure. The tree of a box, `.git` included, has either no `.git` at all (`none`) or one commit of exactly the rest of the tree (`one`). Throws
 * `EnvironmentError("history")` for remotes, other refs, reflogs, stashes, alternates, packs, hooks, dangling objects, another author or parent, a commit of
 * another tree, and a `.git` that is a link to elsewhere or nested further down.
 */
export function assertHistory(
  name: string,
  tree: Tree,
  expected: "none" | "one",
  links: Links = NO_LINKS,
): void {
  const nested = [...tree.keys()].find((path) => /\/\.git(\/|$)/.test(path));
  if (nested !== undefined) throw violation(name, `a second repository (${nested})`);
  const own = [...tree.keys()].filter(isHistory);
  if (expected === "none") {
    if (own.length > 0) throw violation(name, `a history (${own[0]}) where none was made`);
    return;
  }
  if (tree.has(".git")) throw violation(name, "a .git that leads elsewhere");
  const wanted = snapshotOf(new Map([...tree].filter(([path]) => !isHistory(path))), links);
  for (const path of own) {
    if (path.startsWith(".git/objects/") && /\/[0-9a-f]{2}\/[0-9a-f]{38}$/.test(path)) {
      if (!wanted.has(path)) throw violation(name, describeObject(path, tree.get(path)!));
    } else if (!ALLOWED.has(path)) throw violation(name, whatIs(path));
  }
  for (const [path, content] of wanted) {
    const found = tree.get(path);
    if (found === undefined) throw violation(name, `${path} is missing`);
    if (!sameFile(path, found, content)) throw violation(name, `${path} is not what was made`);
  }
}

/** How an object is packed depends on the packer; what it holds does not. */
function sameFile(path: string, found: Uint8Array, wanted: Uint8Array): boolean {
  if (!path.startsWith(".git/objects/")) return Buffer.compare(found, wanted) === 0;
  try {
    return Buffer.compare(inflateSync(found), inflateSync(wanted)) === 0;
  } catch {
    return false;
  }
}

function describeObject(path: string, content: Uint8Array): string {
  try {
    const head = inflateSync(content).subarray(0, 16).toString("latin1");
    return `another ${head.slice(0, head.indexOf(" "))} object (${path})`;
  } catch {
    return `a damaged object (${path})`;
  }
}
