/** The packages of role `pretrain`: their sources alone are read, nothing of them is run. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { loadCatalogue } from "./catalogue.ts";
import { installLock } from "./install.ts";

/** Sources of every `pretrain` package, in catalogue order; `path` is `<package>/<file>`. Installs their lockfiles if needed. */
export async function pretrainingSources(
  dataFolder: string,
  signal?: AbortSignal,
): Promise<{ readonly path: string; readonly text: string }[]> {
  const catalogue = await loadCatalogue();
  const found: { path: string; text: string }[] = [];
  for (const { name, packageName, role, sources, pins } of catalogue.entries) {
    if (role !== "pretrain" || pins.kind !== "npm") continue;
    const modules = await installLock(pins.lock, dataFolder, signal === undefined ? {} : { signal });
    for (const source of sources)
      found.push({
        path: `${name}/${source}`,
        text: await readFile(join(modules, packageName, source), "utf8"),
      });
  }
  return found;
}
