/** The alert rules and the page on metrics: rules are whole, and they name series that the code makes and the page lists. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { packageRoot } from "../../infra/stack/index.ts";

const read = (path: string) => readFileSync(join(packageRoot, path), "utf8");
const page = read("docs/metrics.md");
const documented = new Set([...page.matchAll(/`((?:tadpole|temporal)_[a-z_]+)`/g)].map((match) => match[1]!));

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly action: string };
}
const { groups } = parse(read("infra/alerts.yaml")) as { groups: { name: string; rules: Rule[] }[] };
const rules = groups.flatMap(({ rules }) => rules);

/** Families: the name without what a histogram appends. */
const family = (series: string) => series.replace(/_(bucket|sum|count)$/, "");

/** Names of the series that a source makes, as the endpoint spells them. */
function made(): Set<string> {
  const sources = readdirSync(join(packageRoot, "workers"))
    .filter((file) => file.endsWith(".ts"))
    .map((file) => read(`workers/${file}`))
    .join("\n");
  const counters = [...sources.matchAll(/(?:createCounter|counter)\(\s*"(tadpole_\w+)"/g)];
  const histograms = [...sources.matchAll(/createHistogram\(\s*"(tadpole_\w+)"/g)];
  const gauges = [...sources.matchAll(/createGauge\(\s*"(tadpole_\w+)"/g)];
  const server = [...read("services/policy/nano/metrics.ts").matchAll(/family\(\s*"(tadpole_\w+)"/g)];
  return new Set([
    ...counters.map(([, name]) => `${name}_total`),
    ...histograms.map(([, name]) => `${name}_seconds`),
    ...[...gauges, ...server].map(([, name]) => name!),
  ]);
}

describe("metrics", () => {
  it("are listed as they are made, none missing and none too many", () => {
    const listed = [...documented].filter((name) => name.startsWith("tadpole_")).sort();
    expect(listed).toEqual([...made()].sort());
  });
});

describe("alerts", () => {
  it("have a name of their own, an expression, a severity, and say what to do", () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const rule of rules) {
      expect(rule.alert).toMatch(/^Tadpole[A-Z][A-Za-z]+$/);
      expect(rule.for ?? "1m").toMatch(/^\d+[mh]$/);
      expect(["page", "ticket"]).toContain(rule.labels.severity);
      expect(rule.annotations.summary).not.toBe("");
      expect(rule.annotations.action).not.toBe("");
    }
  });

  it.each(rules)("$alert asks for series that are there, with balanced brackets", ({ expr }) => {
    const names = [...expr.matchAll(/\b(?:tadpole|temporal)_[a-z_]+/g)].map(([name]) => family(name));
    expect(names.length > 0 || expr.startsWith("up{")).toBe(true);
    for (const name of names) expect(documented).toContain(name);
    for (const [open, close] of ["()", "[]", "{}"].map((pair) => [...pair]))
      expect(expr.split(open!).length).toBe(expr.split(close!).length);
  });

  it("are the page's table", () => {
    const table = [...page.matchAll(/^\| (Tadpole\w+) \|/gm)].map((match) => match[1]);
    expect(table).toEqual(rules.map(({ alert }) => alert));
  });
});
