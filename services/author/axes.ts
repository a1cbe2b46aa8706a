/** What makes tasks differ: attributes drawn by weight, from the lists of axes.json. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import type { RandomStream } from "../../core/random.ts";

const axis = z
  .array(z.strictObject({ name: z.string().min(1), weight: z.number().min(0) }))
  .refine((values) => values.some(({ weight }) => weight > 0), "at least one weight above 0 is expected");
const axes = z.strictObject({ area: axis, behaviour: axis, difficulty: axis });

export type Attributes = Readonly<Record<keyof z.infer<typeof axes>, string>>;

/** Throws where the file is not as it should be. */
export const AXES = axes.parse(JSON.parse(readFileSync(new URL("./axes.json", import.meta.url), "utf8")));

export function drawAttributes(random: RandomStream): Attributes {
  const draw = (values: z.infer<typeof axis>) =>
    values[random.weighted(values.map(({ weight }) => weight))]!.name;
  return { area: draw(AXES.area), behaviour: draw(AXES.behaviour), difficulty: draw(AXES.difficulty) };
}
