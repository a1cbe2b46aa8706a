/** Variables of a task.toml: a template stands for a value of the host that runs it, and hosts' values are never read or kept. Pure. */

const TEMPLATE = /^\$\{([^}:]+)(?::-(.*))?\}$/s;

export interface ResolvedEnv {
  readonly env: Readonly<Record<string, string>>;
  /** One sentence for each value that is not the one Harbor would use. */
  readonly notes: readonly string[];
}

/** `${NAME:-default}` becomes its default; a variable that is `${NAME}` alone is left out. Values are templates whole or not at all. */
export function resolveEnv(env: Readonly<Record<string, string>>, where: string): ResolvedEnv {
  const kept: [string, string][] = [];
  const notes: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    const template = TEMPLATE.exec(value);
    const fallback = template?.[2];
    if (template === null) kept.push([name, value]);
    else if (fallback === undefined)
      notes.push(
        `${where}.${name} is left out: it is the host's variable ${template[1]}, which no task is given`,
      );
    else {
      kept.push([name, fallback]);
      notes.push(`${where}.${name} is its default: the host's variable ${template[1]} is never read`);
    }
  }
  return { env: Object.fromEntries(kept), notes };
}
