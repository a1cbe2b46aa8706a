/** Resolves with the last output of the program; rejects with one Error that names it, its exit and its last lines. */
export function run(
  file: string,
  args: readonly string[],
  options?: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string; readonly seconds?: number },
): Promise<string>;
