/** Reads fields of a task.toml: each is what it should be, or one error that names file, field, expectation and what was found. */
import { ImportError, type ImportErrorKind } from "../types.ts";

type Table = Readonly<Record<string, unknown>>;

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Long values are cut: an error is one line. */
const SHOWN = 80;

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text =
    typeof value === "bigint" || typeof value === "number"
      ? String(value)
      : (JSON.stringify(value) ?? String(value));
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

/** One table of the file; fields that are absent are null, those of a wrong type are errors of kind `field`. */
export class Fields {
  readonly path: string;
  private readonly file: string;
  private readonly table: Table;

  constructor(file: string, table: unknown, path = "") {
    this.file = file;
    this.path = path;
    if (!isTable(table)) throw new ImportError("field", { file, field: path }, "a table", shown(table));
    this.table = table;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.table, name);
  }

  get(name: string): unknown {
    return this.has(name) ? this.table[name] : undefined;
  }

  at(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`;
  }

  fail(name: string, expected: string, kind: ImportErrorKind = "field"): never {
    throw new ImportError(kind, { file: this.file, field: this.at(name) }, expected, shown(this.get(name)));
  }

  private read<T>(name: string, expected: string, parse: (value: unknown) => T | undefined): T | null {
    if (!this.has(name)) return null;
    const value = parse(this.get(name));
    return value === undefined ? this.fail(name, expected) : value;
  }

  string(name: string): string | null {
    return this.read(name, "a string without NUL", (value) =>
      typeof value === "string" && !value.includes("\0") ? value : undefined,
    );
  }

  boolean(name: string): boolean | null {
    return this.read(name, "true or false", (value) => (typeof value === "boolean" ? value : undefined));
  }

  /** A finite number above 0. */
  positive(name: string): number | null {
    return this.read(name, "a number above 0", (value) =>
      typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined,
    );
  }

  /** A whole number of at least `least`. */
  count(name: string, least: number): number | null {
    return this.read(name, `a whole number of at least ${least}`, (value) =>
      typeof value === "number" && Number.isSafeInteger(value) && value >= least ? value : undefined,
    );
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | null {
    return this.read(name, values.map((value) => `"${value}"`).join(" or "), (value) =>
      values.find((known) => known === value),
    );
  }

  strings(name: string): readonly string[] | null {
    return this.read(name, "an array of strings", (value) =>
      Array.isArray(value) && value.every((item) => typeof item === "string")
        ? (value as string[])
        : undefined,
    );
  }

  /** Variables by name: `[environment.env]` and its like. */
  variables(name: string): Readonly<Record<string, string>> {
    const found = this.section(name);
    for (const key of found.names())
      if (!/^[A-Za-z_]\w*$/.test(key)) found.fail(key, "the name of a variable: letters, digits and _");
    return Object.fromEntries(found.names().map((key) => [key, found.string(key) ?? ""]));
  }

  /** A table below this one; empty where it is absent. */
  section(name: string): Fields {
    return new Fields(this.file, this.get(name) ?? {}, this.at(name));
  }

  /** The entries of an array, each with the path of an error in it; empty where it is absent. */
  items(name: string): readonly { readonly value: unknown; readonly at: string }[] {
    const found =
      this.read(name, "an array", (value) => (Array.isArray(value) ? (value as unknown[]) : undefined)) ?? [];
    return found.map((value, i) => ({ value, at: `${this.at(name)}[${i}]` }));
  }

  /** A table that is an entry of an array. */
  entry({ value, at }: { readonly value: unknown; readonly at: string }): Fields {
    return new Fields(this.file, value, at);
  }

  names(): readonly string[] {
    return Object.keys(this.table);
  }
}
