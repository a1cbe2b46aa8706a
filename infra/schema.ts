/**
 * Writes `experiments/experiment.schema.json`, which editors use to check and complete experiment files. With `--check`
 * it writes nothing and fails if the file is stale.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { experimentJsonSchema } from "../core/schemas/index.ts";

const path = new URL("../experiments/experiment.schema.json", import.meta.url);
const text = `${JSON.stringify(experimentJsonSchema(), null, 2)}\n`;

if (process.argv.includes("--check")) {
  let present = "";
  try {
    present = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  if (present !== text) {
    console.error("experiments/experiment.schema.json is stale; `npm run schema` writes it anew");
    process.exitCode = 1;
  }
} else {
  writeFileSync(path, text);
}
