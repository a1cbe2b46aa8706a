/** The importer of each format. */
import { harborImporter } from "./harbor/import.ts";
import { sweBenchImporter } from "./swe/bench.ts";
import { r2eGymImporter } from "./swe/r2e.ts";
import { sweRebenchImporter } from "./swe/rebench.ts";
import { sweSmithImporter } from "./swe/smith.ts";
import type { Importer, ImportFormat } from "./types.ts";

export const IMPORTERS: Readonly<Record<ImportFormat, Importer>> = {
  "swe-bench": sweBenchImporter,
  "swe-smith": sweSmithImporter,
  "swe-rebench": sweRebenchImporter,
  "r2e-gym": r2eGymImporter,
  harbor: harborImporter,
};
