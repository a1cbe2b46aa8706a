/** Quoting for the Bash commands that statements quote. */

/** One word of a POSIX shell, whatever `text` holds (NUL aside, which no command line can hold). */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
