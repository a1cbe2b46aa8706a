/**
 * Keeps markers apart from text that spells them: a file may hold `<|im_end|>`, and it must reach the model as those ten characters. Before a
 * chat template is rendered, such text is broken by a character that no text has (a Unicode noncharacter); what is found unbroken afterwards
 * was written by the template.
 */

const BREAK = "\uFDD0";
const OWN = `${BREAK}\uFDD1`;
const CUT = `${BREAK}\uFDD2`;

/** Stands for an assistant's turn in a rendering; no guarded text holds it. */
export const PLACEHOLDER = `${BREAK}\uFDD3`;

export interface Guard {
  /** The text with each marker in it broken behind its first character. */
  guard(text: string): string;
  /** A guarded text, or a part of it, as it was. */
  restore(text: string): string;
}

/** Any of the texts, the longest first; null where there are none. */
export function anyOf(texts: readonly string[]): string | null {
  if (texts.length === 0) return null;
  const longestFirst = [...texts].sort((a, b) => b.length - a.length);
  return longestFirst.map((text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")).join("|");
}

/** `markers` have two characters or more. */
export function createGuard(markers: readonly string[]): Guard {
  const any = anyOf(markers);
  // Each character at which a marker begins, those within another marker too.
  const begins = any === null ? null : new RegExp(`(?=${any})[^]`, "g");
  return {
    guard: (text) => {
      const own = text.replaceAll(BREAK, OWN);
      return begins === null ? own : own.replace(begins, (first) => first + CUT);
    },
    restore: (text) => text.replaceAll(CUT, "").replaceAll(OWN, BREAK),
  };
}
