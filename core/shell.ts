/** Quoting for POSIX shells. */

/** One word, whatever `text` holds (NUL aside, which no command line can hold). */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
