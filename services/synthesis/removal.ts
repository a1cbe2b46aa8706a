/** Removal: the body of a small function is replaced by a stub, which makes a small feature task without any history. */
import { MODULE_FUNCTION } from "../javascript/index.ts";
import { writeText } from "./changes.ts";
import type { SiteIndex } from "./sites.ts";
import { mayChange } from "./split.ts";
import type { TaskGenerator } from "./types.ts";

/** Lines of a body that still make a small task. */
const MAX_BODY_LINES = 6;

const STUBS = ['throw new Error("not implemented");', "return undefined;"] as const;

/** Operator name of a removed body in a task's facts. */
export const REMOVED_BODY = "removed-body";

/** The stub takes one line, the first of the old body. Null for a body without braces (an arrow's expression). */
export function removeBody(text: string, start: number, end: number, stub: string): string | null {
  if (text[start] !== "{" || text[end - 1] !== "}") return null;
  return `${text.slice(0, start)}{ ${stub} }${text.slice(end)}`;
}

function bodyLines(text: string): number {
  return text
    .replace(/^\{|\}$/g, "")
    .split("\n")
    .filter((line) => line.trim() !== "").length;
}

export function removalGenerator(
  indexOf: (environment: Parameters<TaskGenerator["generate"]>[0]) => SiteIndex,
): TaskGenerator {
  return {
    name: "removal",
    generate: async (environment, brief, random) => {
      const index = indexOf(environment);
      const small = index.functions.filter(({ file, key, source }) => {
        if (source.name === MODULE_FUNCTION || !mayChange(key, brief)) return false;
        const body = index.sources.get(file)!.slice(source.bodyStart, source.bodyEnd);
        const lines = bodyLines(body);
        return body.startsWith("{") && body.endsWith("}") && lines >= 1 && lines <= MAX_BODY_LINES;
      });
      if (small.length === 0) return { none: "no small function that the brief allows" };
      const { file, key, source } = random.pick(small);
      const original = index.sources.get(file)!;
      const text = removeBody(original, source.bodyStart, source.bodyEnd, random.pick(STUBS))!;
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
