/** Whatever stands in an experiment file, its reader gives settings or one clear line, and the command line ends with 2. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { describeError } from "../../apps/cli/errors.ts";
import { applyOverrides, parseExperimentFile, SettingsError } from "../../core/schemas/index.ts";

const text = readFileSync(new URL("../support/smallest.yaml", import.meta.url), "utf8");
const smallest = parseExperimentFile(text, "smallest.yaml");

/** Null where the text is an experiment, else the refusal; anything else that is thrown is a failure. */
function read(content: string): SettingsError | null {
  try {
    const settings = parseExperimentFile(content, "x.yaml");
    // What was accepted is whole: it reads as itself.
    expect(parseExperimentFile(JSON.stringify(settings), "x.yaml")).toEqual(settings);
    return null;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    expect(error.message).toMatch(/^x\.yaml(, line \d+)?: [^\n]*expected [^\n]+$/);
    expect(error.message.length).toBeLessThan(2000);
    expect(describeError(error)).toMatchObject({ exitCode: 2, message: error.message });
    return error;
  }
}

const few = { numRuns: 60 };

describe("the reader of experiment files", () => {
  it("reads any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(read(Buffer.from(bytes).toString("utf8"))).not.toBeNull();
      }),
      few,
    );
  });

  it("reads any text of YAML's own signs", () => {
    const signs = fc.constantFrom(
      ..."{}[]:,-?&*!|>'\"%@`#~ \n\t01aé\u0000\u2028<=".split(""),
      "<<: *a\n",
      "&a ",
      "*a",
      "!!binary ",
      "---\n",
    );
    fc.assert(
      fc.property(fc.array(signs, { maxLength: 60 }), (parts) => {
        expect(read(parts.join(""))).not.toBeNull();
      }),
      { numRuns: 200 },
    );
  });

  it("reads an experiment in which some letters were changed", () => {
    const change = fc.tuple(fc.nat(text.length), fc.nat(30), fc.string({ unit: "binary", maxLength: 8 }));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        read(changes.reduce((now, [at, cut, put]) => now.slice(0, at) + put + now.slice(at + cut), text));
      }),
      few,
    );
  });

  it("reads any data", () => {
    const data = fc.anything({ withBigInt: false, withDate: false, withNullPrototype: false, maxDepth: 4 });
    fc.assert(
      fc.property(data, (value) => {
        const content = stringify(value) as string | undefined;
        if (content !== undefined) expect(read(content)).not.toBeNull();
      }),
      few,
    );
  });

  it("reads data that is an experiment's at the top and any below", () => {
    const keys = fc.constantFrom(...Object.keys(smallest), "__proto__", "constructor", "toString", "");
    const value = fc.oneof(
      fc.anything({ withBigInt: false, maxDepth: 3 }),
      fc.constantFrom(...Object.values(smallest)),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(keys, value), { maxLength: 6 }), (entries) => {
        read(stringify({ ...smallest, ...Object.fromEntries(entries) }));
      }),
      few,
    );
  });
});

/** Paths of everything in the settings, mappings and lists too. */
function paths(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  const below = Object.entries(value).flatMap(([key, child]) => paths(child, [...path, key]));
  return path.length === 0 ? below : [path, ...below];
}

function withValue(path: readonly string[], value: unknown): string {
  const data = structuredClone(smallest) as never;
  let at = data as Record<string, unknown>;
  for (const part of path.slice(0, -1)) at = at[part] as Record<string, unknown>;
  at[path.at(-1)!] = value;
  return stringify(data);
}

const WRONG: readonly unknown[] = [
  null,
  "",
  true,
  -1,
  -0,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  [],
  { x: 1 },
  "x".repeat(5000),
  "a\nb",
  "__proto__",
  { constructor: { prototype: null } },
];

it.each(paths(smallest).map((path) => path.join(".")))("a value of a wrong kind at %s is named", (path) => {
  const parts = path.split(".");
  const refusals = WRONG.map((value) => read(withValue(parts, value)));
  const refused = refusals.filter((error) => error !== null);
  expect(refused.length).toBeGreaterThan(0);
  // A number out of range for one field can be refused for the sake of another; a list or mapping is always the field's own affair.
  const kinds = refused.filter(({ kind }) => kind === "wrong-type");
  for (const { field } of kinds)
    expect(field === path || field.startsWith(`${path}.`) || path.startsWith(field)).toBe(true);
});

describe("what is made to be expensive", () => {
  const lines = (count: number, line: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => line(index)).join("\n");
  it.each([
    ["aliases of aliases", `a0: &a0 [x, x]\n${lines(40, (n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`)}`],
    ["merged aliases", `a0: &a0 {x: 1}\n${lines(40, (n) => `a${n + 1}: &a${n + 1} {<<: [*a${n}, *a${n}]}`)}`],
    ["lists in lists", "[".repeat(20_000)],
    ["closed lists in lists", `seed: ${"[".repeat(10_000)}${"]".repeat(10_000)}`],
    ["mappings in mappings", lines(300, (n) => `${" ".repeat(n)}a:`)],
    ["many keys", lines(4_000, (n) => `key${n}: ${n}`)],
    ["a long word", "x".repeat(65_000)],
    ["a long number", `seed: ${"9".repeat(60_000)}`],
    ["a long key", `${"k".repeat(60_000)}: 1`],
    ["too long a text", `${text}#${"x".repeat(65_536)}`],
    ["a long list", `environments: {train: [${"minimist,".repeat(7_000)}]}`],
    ["data that contains itself", "policy: &p {kind: *p}"],
    ["a byte order mark and nothing", "\ufeff"],
    ["a tag", "seed: !!js/function 'function () {}'"],
  ])("%s", (_, content) => {
    expect(read(content)).not.toBeNull();
  });
});

it("an override of any text is applied or refused in one line", () => {
  const path = fc.oneof(
    fc.constantFrom(...paths(smallest).map((parts) => parts.join("."))),
    fc.string({ unit: "binary", maxLength: 20 }),
  );
  const value = fc.oneof(
    fc.json(),
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.constant("[".repeat(4_000)),
  );
  fc.assert(
    fc.property(path, value, (where, what) => {
      try {
        applyOverrides(smallest, [`${where}=${what}`]);
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        expect(describeError(error).exitCode).toBe(2);
      }
    }),
    few,
  );
});
