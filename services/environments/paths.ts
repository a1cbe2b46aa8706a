/** Relations of paths inside a tree. */

/** Whether `path` is `top` or lies below it. */
export function isAtOrBelow(path: string, top: string): boolean {
  return path === top || path.startsWith(`${top}/`);
}

/** A filter for `readTree`: the files, and the folders on the way to them. */
export function leadsTo(files: readonly string[]): (path: string) => boolean {
  return (path) => files.some((file) => isAtOrBelow(file, path));
}
