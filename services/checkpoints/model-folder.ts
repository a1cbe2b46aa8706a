/** A model folder in Hugging Face's layout: which of its files make up the model, and what is missing. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { TrainerError } from "../trainers/errors.ts";
import { tensorNames } from "./safetensors.ts";

const INDEX = "model.safetensors.index.json";
/** What engines, trainers and templates read; weights in other formats and code that would be run are left behind. */
const KEPT = /\.(json|safetensors|jinja|model|txt|tiktoken)$/;

/** As saved by transformers: `<name>-00001-of-00003.safetensors`. */
const SHARD = /-(\d{5})-of-(\d{5})\.safetensors$/;

const refuse = (folder: string, why: string) => new TrainerError("model", `model folder ${folder}: ${why}`);

/**
 * Names of the files that make up the model, sorted. Throws TrainerError `model`, which names the file, for a folder that is none: no config.json,
 * no tokenizer.json, no weights in safetensors, a shard that is missing or was cut short.
 */
export async function modelFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw refuse(folder, error.code === "ENOENT" ? "there is no such folder" : `${error.message}`);
  });
  for (const name of ["config.json", "tokenizer.json"])
    if (!names.includes(name))
      throw refuse(folder, `${name} is missing; expected a folder as save_pretrained writes it`);
  await readJson(folder, "config.json");
  await checkWeights(folder, names);
  return names.filter((name) => KEPT.test(name)).sort();
}

async function readJson(folder: string, name: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(join(folder, name), "utf8"));
  } catch (error) {
    throw refuse(folder, `${name} is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

async function checkWeights(folder: string, names: readonly string[]): Promise<void> {
  const files = names.filter((name) => name.endsWith(".safetensors"));
  const indexed = names.includes(INDEX) ? await weightMap(folder) : null;
  const wanted = indexed ? [...new Set(indexed.values())] : files.flatMap(shardsOf);
  if (wanted.length === 0) throw refuse(folder, "no *.safetensors is in it; expected model.safetensors");
  const held = new Map<string, ReadonlySet<string>>();
  for (const name of [...new Set(wanted)].sort()) {
    if (!names.includes(name))
      throw refuse(folder, `${name} is missing${indexed ? `, which ${INDEX} names` : ""}`);
    const tensors = await tensorNames(join(folder, name));
    if (typeof tensors === "string") throw refuse(folder, `${name} ${tensors}`);
    held.set(name, tensors);
  }
  for (const [tensor, name] of indexed ?? [])
    if (!held.get(name)!.has(tensor))
      throw refuse(folder, `${name} does not hold ${tensor}, which ${INDEX} says is in it`);
}

/** One shard of several stands for all of them. */
function shardsOf(name: string): string[] {
  const [, , count] = SHARD.exec(name) ?? [];
  if (count === undefined) return [name];
  return Array.from({ length: Number(count) }, (_, n) =>
    name.replace(SHARD, `-${String(n + 1).padStart(5, "0")}-of-${count}.safetensors`),
  );
}

async function weightMap(folder: string): Promise<Map<string, string>> {
  const index = (await readJson(folder, INDEX)) as { weight_map?: unknown };
  const entries = Object.entries((index?.weight_map ?? {}) as Record<string, unknown>);
  const isMap = entries.length > 0 && entries.every(([, name]) => typeof name === "string");
  if (!isMap) throw refuse(folder, `${INDEX}: expected weight_map, from tensors to files`);
  return new Map(entries as [string, string][]);
}
