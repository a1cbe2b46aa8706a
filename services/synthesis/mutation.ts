/** Mutation and combination: one or two small mistakes put into a package that works. */
import type { RandomStream } from "../../core/random.ts";
import { applyEdit } from "../languages/index.ts";
import { writeText } from "./changes.ts";
import { type EditSite, noSite, type SiteIndex } from "./sites.ts";
import { mayChange } from "./split.ts";
import type { Brief, Candidate, TaskGenerator } from "./types.ts";

type Indexed = (environment: Parameters<TaskGenerator["generate"]>[0]) => SiteIndex;

/** Lines between two mutations of one function, at least: nearer ones read as one mistake. */
export const DISTANT_LINES = 10;
/** Draws for the second site before a package counts as too small. */
export const SECOND_DRAWS = 50;
const NOWHERE = "no function that the brief allows has an edit";

/**
 * One site. The operator is drawn first, evenly over those that the allowed functions offer, then the function, then the
 * edit: otherwise `variable` edits, which are most of all edits, would be most of all tasks.
 */
export function drawSite(index: SiteIndex, brief: Brief, random: RandomStream): EditSite | null {
  const offered = [...index.edits.values()]
    .map((sites) => sites.filter((site) => mayChange(site.key, brief)))
    .filter((sites) => sites.length > 0);
  if (offered.length === 0) return null;
  const sites = random.pick(offered);
  const key = random.pick([...new Set(sites.map((site) => site.key))]);
  return random.pick(sites.filter((site) => site.key === key));
}

export function factsOf(site: EditSite): Candidate["sites"][number] {
  const { file, functionName } = site;
  return { file, functionName, line: site.edit.line, operator: site.edit.operator };
}

function overlap(a: EditSite, b: EditSite): boolean {
  return a.file === b.file && a.edit.start < b.edit.end && b.edit.start < a.edit.end;
}

function distant(a: EditSite, b: EditSite): boolean {
  if (overlap(a, b)) return false;
  return a.key !== b.key || Math.abs(a.edit.line - b.edit.line) >= DISTANT_LINES;
}

export function mutationGenerator(indexOf: Indexed): TaskGenerator {
  return {
    name: "mutation",
    generate: async (environment, brief, random) => {
      const index = indexOf(environment);
      const site = drawSite(index, brief, random);
      if (site === null) return noSite(index, NOWHERE);
      const original = index.sources.get(site.file)!;
      return {
        type: "bug",
        generator: "mutation",
        base: [writeText(site.file, applyEdit(original, site.edit))],
        gold: [writeText(site.file, original)],
        sites: [factsOf(site)],
        functions: [site.key],
      };
    },
  };
}

export function combinationGenerator(indexOf: Indexed): TaskGenerator {
  return {
    name: "combination",
    generate: async (environment, brief, random) => {
      const index = indexOf(environment);
      const first = drawSite(index, brief, random);
      if (first === null) return noSite(index, NOWHERE);
      for (let draw = 0; draw < SECOND_DRAWS; draw++) {
        const second = drawSite(index, brief, random)!;
        if (distant(first, second)) return combine(index, [first, second]);
      }
      return { none: "no second site far enough from the first" };
    },
  };
}

function combine(index: SiteIndex, drawn: readonly EditSite[]): Candidate {
  const sites = [...drawn].sort(
    (a, b) => (a.file === b.file ? 0 : a.file < b.file ? -1 : 1) || a.edit.start - b.edit.start,
  );
  const mutated = new Map<string, string>();
  // From the last offset to the first, so that an edit moves no other.
  for (const site of [...sites].reverse()) {
    const text = mutated.get(site.file) ?? index.sources.get(site.file)!;
    mutated.set(site.file, applyEdit(text, site.edit));
  }
  const changes = [...mutated].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    type: "bug",
    generator: "combination",
    base: changes.map(([file, text]) => writeText(file, text)),
    gold: changes.map(([file]) => writeText(file, index.sources.get(file)!)),
    sites: sites.map(factsOf),
    functions: [...new Set(sites.map((site) => site.key))],
    parts: sites.map((site) => [writeText(site.file, applyEdit(index.sources.get(site.file)!, site.edit))]),
  };
}
