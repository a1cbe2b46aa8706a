/** The packages of role `pretrain`: their sources alone are read, nothing of them is run. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { loadCatalogue } from "./catalogue.ts";
import { installCatalogue } from "./install.ts";

/** Sources of every `pretrain` package, in catalogue order; `path` is `<package>/<file>`. Installs the catalogue if needed. */
export async function pretrainingSources(
  dataFolder: string,
  signal?: AbortSignal,
): Promise<{ readonly path: string; readonly text: string }[]> {
  const catalogue = await loadCatalogue();
  const modules = await installCatalogue(catalogue, dataFolder, signal === undefined ? {} : { signal });
  const files = catalogue.entries
    .filter((entry) => entry.role === "pretrain")
    .flatMap((entry) => entry.sources.map((source) => ({ entry, source })));
  return Promise.all(
    files.map(async ({ entry, source }) => ({
      path: `${entry.name}/${source}`,
      text: await readFile(join(modules, entry.packageName, source), "utf8"),
    })),
  );
}
