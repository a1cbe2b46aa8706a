/** What of an image only the verifier may see: taken out of the boxes, and read for it. */
import { createHash } from "node:crypto";
import type { FileChange } from "../../core/task.ts";
import {
  archiveAt,
  type Container,
  commit,
  readArchive,
  runToEnd,
  withContainer,
} from "../environments/index.ts";
import { connectDocker, encode } from "../sandbox/index.ts";
import type { ImportedEnvironment } from "./types.ts";

/** On an image made here: the id of the one below it, and a hash of what was taken out and set. */
const HIDDEN_LABEL = "tadpole.hidden";

/** The image with the source's variables and without what only the verifier may see, which is read first. Throws `EnvironmentError("install")`. */
export async function withoutHidden(
  reference: string,
  { hidden = [], env }: Pick<ImportedEnvironment, "hidden" | "env">,
): Promise<{ readonly reference: string; readonly hidden: readonly FileChange[] }> {
  if (hidden.length === 0 && Object.keys(env).length === 0) return { reference, hidden: [] };
  return withContainer(reference, ["rm", "-rf", "--", ...hidden], async (container) => {
    const files = (await Promise.all(hidden.map((path) => filesAt(container, reference, path)))).flat();
    const { docker } = connectDocker();
    const { Id: source } = await docker.getImage(reference).inspect();
    // Each commit has an id of its own: what was made of the same image before is taken again, so that a task keeps its id.
    const made = createHash("sha256")
      .update(JSON.stringify([reference, hidden, env]))
      .digest("hex");
    const label = [HIDDEN_LABEL, `${source} ${made}`] as const;
    // The pinned image stands on it and has its labels, too.
    const labelled = await docker.listImages({
      all: true,
      filters: JSON.stringify({ label: [label.join("=")] }),
    });
    const known = labelled.find(({ ParentId }) => ParentId === source);
    if (known !== undefined) return { reference: known.Id, hidden: files };
    await runToEnd(container, "rm of its hidden files");
    const variables = Object.entries(env).map(([name, value]) => `ENV ${name}=${JSON.stringify(value)}`);
    return { reference: await commit(container, label, variables), hidden: files };
  });
}

/** The file, or every file below the folder, under their absolute paths; none where nothing is there. */
async function filesAt(container: Container, reference: string, path: string): Promise<FileChange[]> {
  const archive = await archiveAt(container, path);
  if (archive === undefined) return [];
  const parent = path.slice(0, path.lastIndexOf("/"));
  return [...readArchive(`${reference}:${path}`, archive)].map(
    ([name, content]): FileChange => ({ kind: "write", path: `${parent}/${name}`, ...encode(content) }),
  );
}
