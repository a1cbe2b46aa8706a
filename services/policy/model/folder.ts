/** Whether prompts can be made of a model folder on this machine's disk. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { TEMPLATE_FILES } from "./files.ts";
import { createModelTemplate } from "./template.ts";

/** Throws PolicyError `capability` that names the file: no tokenizer, or a chat template that is none, does not render or leaves turns out. */
export async function checkModelFolder(folder: string): Promise<void> {
  const files: Record<string, string> = {};
  for (const name of TEMPLATE_FILES) {
    const text = await readFile(join(folder, name), "utf8").catch(() => undefined);
    if (text !== undefined) files[name] = text;
  }
  // How calls are written is no matter of the folder.
  createModelTemplate({ files, calls: "generic", where: folder });
}
