/** The settings of the smallest experiment that has every phase. */
import { readFileSync } from "node:fs";
import { parseExperimentFile } from "../../core/schemas/index.ts";

export const smallestSettings = parseExperimentFile(
  readFileSync(new URL("./smallest.yaml", import.meta.url), "utf8"),
  "smallest.yaml",
);
