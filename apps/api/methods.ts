/** Which methods a path has: for OPTIONS, and for 405 instead of 404. */

export class Methods {
  readonly #routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];

  add(url: string, method: string | readonly string[]): void {
    const parts = url.split(/(:[A-Za-z]+|\*)/).map((part) => {
      if (part.startsWith(":")) return "[^/]+";
      return part === "*" ? ".*" : part.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
    });
    this.#routes.push({ pattern: new RegExp(`^${parts.join("")}$`), methods: [method].flat() });
  }

  /** Value of `Allow`; null where there is nothing. */
  allowed(path: string): string | null {
    const found = this.#routes.filter(({ pattern }) => pattern.test(path));
    if (found.length === 0) return null;
    return [...new Set([...found.flatMap(({ methods }) => methods), "OPTIONS"])].sort().join(", ");
  }
}
