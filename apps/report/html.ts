/** HTML and SVG by tagged templates in which everything that is not markup is escaped. */

export interface Markup {
  readonly markup: string;
}

type Part = Markup | string | number | boolean | null | undefined | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A character that would not be seen, or would reorder what is seen, as one that is. */
function visible(character: string): string {
  const code = character.charCodeAt(0);
  if (character === "\n" || character === "\t") return character;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** Text for elements and quoted attributes; what an agent printed may hold anything at all. */
export function escapeHtml(text: string): string {
  return text
    .toWellFormed()
    .replace(/[&<>"']/g, (character) => ENTITIES[character]!)
    .replace(/[\p{Cc}\p{Bidi_Control}]/gu, visible);
}

function render(part: Part): string {
  if (part === null || part === undefined || typeof part === "boolean") return "";
  if (typeof part === "string") return escapeHtml(part);
  if (typeof part === "number") return String(part);
  if (isMarkup(part)) return part.markup;
  return part.map(render).join("");
}

function isMarkup(part: Markup | readonly Part[]): part is Markup {
  return "markup" in part;
}

/** `null`, `undefined` and booleans are left out; lists are joined. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return { markup: strings.reduce((text, string, i) => text + render(parts[i - 1]) + string) };
}
