/** Report text without what terminals add to it. Pure, in time linear in the text. */
import { stripVTControlCharacters } from "node:util";

/** Lines without colours; a lone carriage return ends a line, too, so CRLF gives empty lines besides. */
export function linesOf(text: string): string[] {
  return stripVTControlCharacters(text).split(/[\r\n]/);
}

/** Number of leading spaces. */
export function indentOf(line: string): number {
  let at = 0;
  while (line[at] === " ") at++;
  return at;
}
