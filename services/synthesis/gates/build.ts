/** build: sources that do not parse, and a gold that is not the snapshot's own text. Whether the tests load them shows in `ends`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { composeChanges } from "../../../core/changes.ts";
import { parses } from "../../javascript/index.ts";
import { textsOf } from "../changes.ts";
import { Refused, type Trial } from "./trial.ts";

export function build({ candidate: { base, gold }, environment: { root } }: Trial): void {
  for (const [file, text] of textsOf(base))
    if (!parses(text)) throw new Refused("build", `${file} does not parse`);
  for (const [file, text] of textsOf(composeChanges(base, gold)))
    if (text !== readFileSync(join(root, file), "utf8"))
      throw new Refused("gold", `gold does not restore ${file} of the snapshot`);
}
