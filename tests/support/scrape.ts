/** Reads a Prometheus endpoint. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Throws unless every line is one of the text format: a comment, or `name{label="value",…} number`. */
export function parseMetrics(text: string): readonly Sample[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const parts = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
      const value = Number(parts?.[3]?.replace("Inf", "Infinity"));
      if (parts === null || Number.isNaN(value)) throw new Error(`no sample of Prometheus: ${line}`);
      const labels = [...(parts[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
      return { name: parts[1]!, labels: Object.fromEntries(labels.map(([, k, v]) => [k!, v!])), value };
    });
}

export async function scrape(url: string): Promise<readonly Sample[]> {
  const reply = await fetch(url);
  if (!reply.ok) throw new Error(`${url} answered ${reply.status}`);
  return parseMetrics(await reply.text());
}

/** Sum over the samples of that name whose labels include `labels`; undefined without any. */
export function total(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}
