/** alternative: gold written in another way that means the same must pass, too: with a comment, and with other names where these can be derived. */
import { composeChanges } from "../../../core/changes.ts";
import { languageOf } from "../../languages/index.ts";
import { baseText } from "../base-tree.ts";
import { textsOf, writeText } from "../changes.ts";
import { alternativeOf } from "./alternatives.ts";
import { hunksOf } from "./hunks.ts";
import { Refused, type Trial } from "./trial.ts";

/** An operator's edit is undone by its reverse: only gold that somebody wrote has other ways to be written. */
export async function alternative(trial: Trial): Promise<void> {
  if (trial.options.gates === undefined || !trial.judgesItself) return;
  const found = derive(trial);
  if (found === undefined) {
    trial.pass("alternative", "none could be derived from gold");
    return;
  }
  const verdict = await trial.grade(trial.task, found.change);
  if (verdict.outcome !== "passed")
    throw new Refused(
      "alternative",
      `gold with ${found.what} fails by ${verdict.rule}: ${verdict.offending.slice(0, 3).join("; ")}`,
    );
  trial.pass("alternative", `passes: gold with ${found.what}`);
}

function derive(trial: Trial) {
  const { gold } = trial.candidate;
  const renamed = otherNames(trial);
  const written = renamed?.change ?? gold;
  const commented = [...textsOf(written)].flatMap(([path, text]) => {
    const other = withComment(path, text);
    return other === undefined ? [] : [writeText(path, other)];
  });
  if (commented.length === 0) return renamed;
  const comment = "a comment at the end of each source";
  return {
    what: renamed === undefined ? comment : `${renamed.what} and ${comment}`,
    change: composeChanges(written, commented),
  };
}

/** Tests that compare the source's text or its hash ask for gold, and not for what it does. */
function withComment(path: string, text: string): string | undefined {
  const language = languageOf(path);
  if (language === null || text === "") return undefined;
  const other = `${text.replace(/\n$/, "")}\n${language.comment} the end\n`;
  return language.parses(other) ? other : undefined;
}

function otherNames(trial: Trial) {
  const { gold } = trial.candidate;
  const before = baseText(trial.environment.root, trial.candidate.base);
  for (const [path, text] of textsOf(gold)) {
    const added = hunksOf(path, before(path), text).flatMap(({ lines }) => lines);
    const found = alternativeOf(path, text, added);
    if (found !== undefined)
      return { what: found.what, change: composeChanges(gold, [writeText(path, found.text)]) };
  }
  return undefined;
}
