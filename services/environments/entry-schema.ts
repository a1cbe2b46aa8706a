/** An entry's fields, as a catalogue lists them and as the record of what was prepared keeps them. */
import { z } from "zod";
import { REPORT_FORMATS } from "../../core/task.ts";
import { parseSource, SOURCE_HINT } from "./sources.ts";
import { FRAMEWORKS } from "./types.ts";

const relativePath = z
  .string()
  .regex(
    /^(?!\/)(?!.*(^|\/)\.{1,2}(\/|$))(?!.*\/\/)[^\\]+[^/\\]$/,
    "expected a path inside the package, without .. and with /",
  );

const limit = z.int().positive();

/** Of what was prepared: imported tasks name neither sources nor tests. */
export const entrySchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, "expected lower-case letters, digits and hyphens"),
  source: z.string().refine((text) => parseSource(text) !== undefined, SOURCE_HINT),
  role: z.enum(["train", "unseen", "pretrain"]),
  sources: z.array(relativePath),
  tests: z.array(relativePath),
  omit: z.array(relativePath).default([]),
  framework: z.enum(FRAMEWORKS),
  lock: relativePath.optional(),
  tools: z.array(z.string().min(1)).optional(),
  test: z
    .strictObject({
      argv: z.array(z.string()).min(1).readonly(),
      format: z.enum(REPORT_FORMATS),
      reportFile: z.string().nullable().default(null),
    })
    .optional(),
  commit: z
    .string()
    .regex(/^[0-9a-f]{40}$/, "expected 40 hex digits")
    .optional(),
  image: z.strictObject({ reference: z.string(), workdir: z.string().startsWith("/") }).optional(),
  limits: z.strictObject({ memoryMb: limit, processes: limit, diskMb: limit }).partial().optional(),
});

/** Of a catalogue: whose tests, and of what, must be said. */
export const listedSchema = entrySchema.extend({
  sources: z.array(relativePath).min(1),
  tests: z.array(relativePath).min(1),
});

export type ListedEntry = z.infer<typeof listedSchema>;
