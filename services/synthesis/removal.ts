/** Removal: the body of a small function is replaced by a stub, which makes a small feature task without any history. */
import { writeText } from "./changes.ts";
import { noSite, type SiteIndex } from "./sites.ts";
import { mayChange } from "./split.ts";
import type { TaskGenerator } from "./types.ts";

/** Lines of a body that still make a small task. */
const MAX_BODY_LINES = 6;

/** Operator name of a removed body in a task's facts. */
const REMOVED_BODY = "removed-body";

function filledLines(text: string): number {
  return text.split("\n").filter((line) => line.trim() !== "").length;
}

export function removalGenerator(
  indexOf: (environment: Parameters<TaskGenerator["generate"]>[0]) => SiteIndex,
): TaskGenerator {
  return {
    name: "removal",
    generate: async (environment, brief, random) => {
      const index = indexOf(environment);
      const small = index.functions.flatMap((site) => {
        if (!mayChange(site.key, brief)) return [];
        const original = index.sources.get(site.file)!;
        const body = site.language.body(original, site.source);
        const lines = body === null ? 0 : filledLines(original.slice(body.start, body.end));
        return body !== null && lines >= 1 && lines <= MAX_BODY_LINES ? [{ site, original, body }] : [];
      });
      if (small.length === 0) return noSite(index, "no small function that the brief allows");
      const { site, original, body } = random.pick(small);
      const { file, key, source, language } = site;
      const stub = random.pick(language.stubs);
      const text = original.slice(0, body.start) + stub + original.slice(body.end);
      return {
        type: "feature",
        generator: "removal",
        base: [writeText(file, text)],
        gold: [writeText(file, original)],
        sites: [{ file, functionName: source.name, line: source.startLine, operator: REMOVED_BODY }],
        functions: [key],
      };
    },
  };
}
