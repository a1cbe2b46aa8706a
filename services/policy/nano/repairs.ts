/**
 * Repairs to imitate: a small mistake is put into a source, a statement is worded around it, and the edit that undoes it is the one to
 * choose. Made of text alone: nothing is run, and what the statement says was printed is made up.
 */
import { type RandomStream, random } from "../../../core/random.ts";
import {
  applyEdit,
  enumerateEdits,
  innermostFunction,
  listFunctions,
  OPERATORS,
  type SourceEdit,
} from "../../javascript/index.ts";
import { editFeatures } from "./edit-features.ts";
import type { Example } from "./fit.ts";
import { pack } from "./hashing.ts";
import { readIssue } from "./issue.ts";
import { lineFeatures } from "./line-features.ts";
import { SourceView } from "./source.ts";

export interface SourceText {
  /** Relative to the package's root. */
  readonly path: string;
  readonly text: string;
}

/** Wrong edits that the right one is compared with; the others of the file are like them. */
const RIVALS = 40;
/** Share of statements that name the function, and of those that name line and kind of mistake too. */
const NAMES_FUNCTION = 0.4;
const NAMES_LINE = 0.1;
const VALUES = [
  "true",
  "1",
  "2",
  "'a'",
  "'ab'",
  "[ 1 ]",
  "[ 1, 2 ]",
  "{ a: 1 }",
  "undefined",
  "TypeError: no",
];

function fenced(title: string, text: string): string {
  return `${title}:\n\n\`\`\`\n${text}\n\`\`\``;
}

function writeIssue(path: string, mutant: string, edit: SourceEdit, stream: RandomStream): string {
  const functions = listFunctions(mutant);
  const name = innermostFunction(functions, edit.start).name;
  // Half of the reproductions call the broken function itself, the others any function of the file.
  const called = stream.next() < 0.5 ? name : stream.pick(functions).name;
  const call = /^<|^exports$/.test(called) ? "" : `.${called}`;
  const detail = stream.next();
  return [
    "wrong results",
    fenced("Run", `node -e 'show(() => require("./${path.replace(/\.js$/, "")}")${call}(1))'`),
    fenced("Prints", stream.pick(VALUES)),
    fenced("Should print", stream.pick(VALUES)),
    ...(detail < NAMES_FUNCTION ? [`The mistake seems to be in the function \`${name}\`.`] : []),
    ...(detail < NAMES_LINE ? [`Look at \`${path}:${edit.line}\`: a mistake (\`${edit.operator}\`).`] : []),
  ].join("\n\n");
}

/** Operator, then function, then edit, as tasks draw them. Null where the file has no edit that can be undone. */
function drawMistake(text: string, stream: RandomStream): SourceEdit | null {
  const edits = enumerateEdits(text).filter((edit) => edit.operator !== "dropped-statement");
  const offered = OPERATORS.filter((operator) => edits.some((edit) => edit.operator === operator));
  if (offered.length === 0) return null;
  const operator = stream.pick(offered);
  const functions = listFunctions(text);
  const named = edits
    .filter((edit) => edit.operator === operator)
    .map((edit) => ({ edit, name: innermostFunction(functions, edit.start).name }));
  const name = stream.pick([...new Set(named.map((each) => each.name))]);
  return stream.pick(named.filter((each) => each.name === name)).edit;
}

function drawRepair({ path, text }: SourceText, stream: RandomStream): Example | null {
  const mistake = drawMistake(text, stream);
  if (mistake === null) return null;
  const mutant = applyEdit(text, mistake);
  const view = new SourceView(mutant);
  const issue = readIssue(writeIssue(path, mutant, mistake, stream));
  const spots = view.lines.flatMap((line) => line.edits.map((item) => ({ line, item })));
  const right = spots.find(({ item }) => applyEdit(mutant, item.edit) === text);
  if (right === undefined) return null;
  const rivals = stream
    .shuffle(spots)
    .filter((spot) => spot !== right)
    .slice(0, RIVALS);
  const compared = [right, ...rivals];
  const ofLine = lineFeatures(issue, path, view);
  const candidates = pack(
    compared.map((_, index) => index),
    (index) => {
      const { line, item } = compared[index]!;
      return [ofLine(line), editFeatures(issue, view, line, item)];
    },
  );
  // Each rival stands for its share of all the file's other edits.
  const shift = Math.log((spots.length - 1) / Math.max(1, rivals.length));
  return { candidates, shifts: compared.map((spot) => (spot === right ? 0 : shift)), targets: [[0, 1]] };
}

/** The same arguments give the same examples; those of draws that gave no repair are left out. */
export function drawRepairs(sources: readonly SourceText[], count: number, seed: number): Example[] {
  return Array.from({ length: count }, (_, index) => {
    const stream = random(seed, "repair", index);
    return drawRepair(stream.pick(sources), stream);
  }).filter((example) => example !== null);
}
