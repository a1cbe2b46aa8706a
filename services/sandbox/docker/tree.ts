/** How the tree gets into a new container: as one archive, merged on the host, so that nothing an overlay replaces was ever inside. */
import { readFileSync } from "node:fs";
import type { FileChange } from "../../../core/task.ts";
import { mountsIn } from "../inside.ts";
import { SandboxError, type SandboxSpec } from "../runtime.ts";
import { contentOf } from "../tree/change.ts";
import type { Manifest } from "../tree/manifest.ts";
import type { Box } from "./box.ts";
import { FIND } from "./scan.ts";
import { type TarEntry, tar } from "./tar.ts";

/** Times are those of unpacking, as in a fresh checkout: a time from before could make stale compiled files look current. */
const UNPACK = `tar -xmof - && exec ${FIND}`;

/** Removes files, and the folders they leave empty; then unpacks. */
const CHANGE = `
for path; do
  rm -f -- "$path"
  while case $path in */*) ;; *) false ;; esac do
    path=\${path%/*}
    rmdir -- "$path" 2>/dev/null || break
  done
done
tar -xmof - --unlink-first && exec ${FIND}`;

export async function fillTree(box: Box, spec: SandboxSpec, base: Manifest, given: Manifest): Promise<void> {
  refuseOverMounts(spec, box.workdir);
  const { script, args, entries } =
    spec.image === undefined
      ? { script: UNPACK, args: [], entries: treeEntries(spec, given) }
      : { script: CHANGE, args: deletedOf(spec, base), entries: overlayEntries(spec.overlay) };
  const result = await box.line.runScript(script, args, { input: [...tar(entries)] });
  if (result.code !== 0)
    throw new SandboxError(
      /No space left/.test(result.stderr) ? "disk" : "boot",
      `the tree could not be put into the container: ${result.stderr.trim() || `exit code ${result.code}`}`,
    );
  box.noteNew();
  const { extra } = box.scanner.seed(result.stdout, given);
  if (extra.length > 0) await box.giveExtra(extra);
}

/** The folders on the way to a mount are there before the tree is, and stay folders. */
function refuseOverMounts(spec: SandboxSpec, workdir: string): void {
  const mounts = [...mountsIn(workdir, spec.mounts)];
  for (const { kind, path } of spec.overlay)
    if (kind !== "delete" && mounts.some((mount) => mount.startsWith(`${path}/`)))
      throw new SandboxError(
        "path",
        `the overlay puts a file where a mount needs a folder: ${JSON.stringify(path)}`,
      );
}

/** Every file as the overlay leaves it. */
function* treeEntries(spec: SandboxSpec, given: Manifest): Generator<TarEntry> {
  const overlay = new Map(spec.overlay.map((change) => [change.path, change]));
  for (const [path, entry] of given) {
    const change = overlay.get(path);
    if (entry.type === "symlink") yield { type: "symlink", path, target: entry.target };
    else {
      const content = change?.kind === "write" ? contentOf(change) : readFileSync(`${spec.root}/${path}`);
      yield { type: "file", path, content, executable: entry.executable };
    }
  }
}

function* overlayEntries(overlay: readonly FileChange[]): Generator<TarEntry> {
  for (const change of overlay) {
    const { path } = change;
    if (change.kind === "symlink") yield { type: "symlink", path, target: change.target };
    if (change.kind === "write")
      yield { type: "file", path, content: contentOf(change), executable: change.executable === true };
  }
}

const deletedOf = ({ overlay }: SandboxSpec, base: Manifest): string[] =>
  overlay.filter(({ kind, path }) => kind === "delete" && base.has(path)).map(({ path }) => path);
