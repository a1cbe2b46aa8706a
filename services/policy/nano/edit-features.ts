/** Features of one edit of a chosen line. */
import { Features } from "./hashing.ts";
import { type Issue, wordsOf } from "./issue.ts";
import type { EditView, SourceLine, SourceView } from "./source.ts";

/** What is replaced by what, where both are from a small vocabulary. */
function exchange({ edit, old }: EditView): string {
  switch (edit.operator) {
    case "variable":
    case "argument-order":
    case "ternary":
    case "dropped-statement":
      return "";
    case "string":
      return old.length < edit.replacement.length ? "longer" : "shorter";
    case "constant": {
      const [from, to] = [Number(old), Number(edit.replacement)];
      return `${from > 2 ? "n" : from}${to > from ? "+" : "-"}`;
    }
    default:
      return `${old}>${edit.replacement}`;
  }
}

function count(value: number): string {
  return String(Math.min(value, 3));
}

/** Whether a name would become used that is not, or unused that is: a wrong variable leaves such traces. */
function usageFeatures(features: Features, view: SourceView, { edit, old }: EditView): void {
  const around = view.functionAt(edit.start);
  const uses = (name: string) => view.count(name, around.start, around.end);
  features.add(`edit:variable|new${count(uses(edit.replacement))}`);
  features.add(`edit:variable|old${count(uses(old))}`);
  if (around.parameters.includes(edit.replacement)) features.add("edit:variable|new-parameter");
  if (around.parameters.includes(old)) features.add("edit:variable|old-parameter");
  const line = view.text.slice(
    view.text.lastIndexOf("\n", edit.start) + 1,
    (view.text.indexOf("\n", edit.end) + 1 || view.text.length + 1) - 1,
  );
  const onLine = (name: string) => line.split(/[^\w$]+/).filter((word) => word === name).length;
  features.add(`edit:variable|line-new${count(onLine(edit.replacement))}`);
  features.add(`edit:variable|line-old${count(onLine(old))}`);
}

export function editFeatures(issue: Issue, view: SourceView, line: SourceLine, item: EditView): Features {
  const features = new Features();
  const { edit, old } = item;
  const { operator } = edit;
  features.add(`edit:${operator}`);
  const kind = exchange(item);
  if (kind !== "") {
    features.add(`edit:${operator}|${kind}`);
    features.add(`edit:${operator}|${kind}|${item.before.slice(0, 12)}|${item.after.slice(0, 12)}`);
    for (const symptom of issue.symptoms) features.add(`edit:${symptom}|${operator}|${kind}`);
  }
  for (const symptom of issue.symptoms) features.add(`edit:${symptom}|${operator}`);
  if (issue.names.has(operator)) features.add("edit:named");
  const head = /^\s*(?:\} )?(?:else )?([a-z]+)\b/.exec(line.text)?.[1] ?? "";
  if (/^(?:if|for|while|return|throw)$/.test(head)) features.add(`edit:${operator}|${kind}|${head}`);
  const natural = Math.max(-8, Math.min(8, view.naturalness(item))) / 4;
  features.add("edit:natural", natural);
  features.add(`edit:natural|${operator}`, natural);
  if (operator === "variable") usageFeatures(features, view, item);
  const population = view.population(operator, view.functionAt(edit.start).start);
  features.add("edit:rare-operator", -Math.log(Math.max(1, population.file)) / 2);
  features.add("edit:rare-in-function", -Math.log(Math.max(1, population.around)) / 2);
  features.add("edit:few-functions", -Math.log(Math.max(1, population.functions)) / 2);
  const mentioned = (text: string) => wordsOf(text).filter((word) => issue.words.has(word)).length;
  features.add("edit:words", Math.sign(mentioned(edit.replacement) - mentioned(old)));
  const output = (text: string) => wordsOf(text).filter((word) => issue.missingWords.has(word)).length;
  features.add("edit:output-words", Math.sign(output(edit.replacement) - output(old)));
  return features;
}
