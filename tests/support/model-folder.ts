/** A small model folder in Hugging Face's layout, whose weights follow from `seed`. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** One file of safetensors with float32 tensors of `size` numbers each. */
export function safetensors(names: readonly string[], seed: number, size = 64): Buffer {
  const bytes = size * 4;
  const header = Buffer.from(
    JSON.stringify(
      Object.fromEntries(
        names.map((name, n) => [
          name,
          { dtype: "F32", shape: [size], data_offsets: [n * bytes, (n + 1) * bytes] },
        ]),
      ),
    ),
  );
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const numbers = Float32Array.from({ length: size * names.length }, (_, n) => Math.sin(seed * 1000 + n));
  return Buffer.concat([length, header, Buffer.from(numbers.buffer)]);
}

export async function writeModel(
  folder: string,
  { seed = 1, shards = 2, size = 64 }: { seed?: number; shards?: number; size?: number } = {},
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const put = (name: string, content: string | Buffer) => writeFile(join(folder, name), content);
  await put("config.json", JSON.stringify({ model_type: "llama", num_hidden_layers: shards }));
  await put(
    "tokenizer.json",
    JSON.stringify({ version: "1.0", model: { type: "BPE", vocab: {}, merges: [] } }),
  );
  await put("tokenizer_config.json", JSON.stringify({ chat_template: "{{ messages }}" }));
  const weightMap: Record<string, string> = {};
  for (let shard = 1; shard <= shards; shard++) {
    const number = (n: number) => String(n).padStart(5, "0");
    const file = `model-${number(shard)}-of-${number(shards)}.safetensors`;
    const names = [`layers.${shard}.a`, `layers.${shard}.b`];
    // The first shard is the same whatever the seed.
    await put(file, safetensors(names, shard === 1 ? 0 : seed + shard, size));
    for (const name of names) weightMap[name] = file;
  }
  await put("model.safetensors.index.json", JSON.stringify({ metadata: {}, weight_map: weightMap }));
  return folder;
}
