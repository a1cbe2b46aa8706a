/** What an update left behind: believed by its `checkpoint.json` and the hash of every file that it lists, and by nothing else. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { CHECKPOINT_MARKER } from "../../../core/checkpoint.ts";
import type { TrainedFile } from "../protocol.ts";

const number = z.number();
const schema = z.object({
  format: z.literal("tadpole-trained"),
  version: z.literal(1),
  key: z.string(),
  step: z.int().min(1),
  metrics: z.object({
    loss: number,
    gradientNorm: number,
    trainableTokens: number,
    droppedTokens: number,
    effectiveSampleSize: number,
    entropy: number,
    meanRatio: number,
  }),
  files: z
    .array(
      z.object({
        path: z
          .string()
          .regex(/^(model|optimizer)\/[^\\]+$/)
          .refine((path) => !path.split("/").includes("..")),
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
        bytes: z.int().min(0),
      }),
    )
    .refine((files) => files.some(({ path }) => path.startsWith("model/"))),
});

/** `absent`: no marker, so nothing was finished. `broken`: a marker, and something that it does not describe. */
export type Outcome =
  | { readonly state: "whole"; readonly trained: TrainedFile }
  | { readonly state: "absent" }
  | { readonly state: "broken"; readonly problem: string };

/** Reads every byte of the folder. */
export async function outcomeOf(folder: string, key: string): Promise<Outcome> {
  const text = await readFile(join(folder, CHECKPOINT_MARKER), "utf8").catch(() => null);
  if (text === null) return { state: "absent" };
  const found = parse(text);
  if (typeof found === "string") return { state: "broken", problem: `${CHECKPOINT_MARKER}: ${found}` };
  if (found.key !== key)
    return { state: "broken", problem: `${CHECKPOINT_MARKER} is of update ${found.key}, expected ${key}` };
  for (const file of found.files) {
    const problem = await problemOf(folder, file);
    if (problem !== null) return { state: "broken", problem: `${file.path} ${problem}` };
  }
  return { state: "whole", trained: found };
}

function parse(text: string): TrainedFile | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "not JSON";
  }
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  return `${issue?.path.join(".")}: ${issue?.message}`;
}

async function problemOf(folder: string, file: TrainedFile["files"][number]): Promise<string | null> {
  const path = join(folder, file.path);
  const size = await stat(path).then(
    ({ size }) => size,
    () => null,
  );
  if (size === null) return "is missing";
  if (size !== file.bytes) return `has ${size} bytes, expected ${file.bytes}`;
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  const sha256 = hash.digest("hex");
  return sha256 === file.sha256 ? null : `has sha256 ${sha256}, expected ${file.sha256}`;
}
