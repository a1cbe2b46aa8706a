/** build: sources and tests that do not parse, a check that cannot run, a gold that is not the snapshot's own text. Whether the tests load them shows in `ends`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { languageOf } from "../../languages/index.ts";
import { textsOf } from "../changes.ts";
import { Refused, type Trial } from "./trial.ts";

export function build(trial: Trial): void {
  const { candidate, environment, solved, verifier } = trial;
  for (const changes of [candidate.base, solved, candidate.tests ?? []]) mustParse(changes);
  if (verifier !== undefined) {
    if ("none" in verifier) throw new Refused("build", verifier.none);
    return;
  }
  for (const [file, text] of textsOf(solved))
    if (text !== readFileSync(join(environment.root, file), "utf8"))
      throw new Refused("gold", `gold does not restore ${file} of the snapshot`);
}

function mustParse(changes: Parameters<typeof textsOf>[0]): void {
  for (const [file, text] of textsOf(changes))
    if (languageOf(file)?.parses(text) === false) throw new Refused("build", `${file} does not parse`);
}
