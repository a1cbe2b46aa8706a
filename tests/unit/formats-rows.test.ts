/** Rows of JSONL, JSON and Parquet: streamed, and a bad one costs only itself. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readRows } from "../../services/formats/rows/index.ts";
import { readJson } from "../../services/formats/rows/json.ts";
import { readJsonl } from "../../services/formats/rows/jsonl.ts";
import { readParquet } from "../../services/formats/rows/parquet.ts";
import type { RowRead } from "../../services/formats/rows/types.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tadpole-rows-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function collect(rows: AsyncIterable<RowRead>): Promise<RowRead[]> {
  const found: RowRead[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

/** Values, and the message in place of each error. */
const plain = (rows: readonly RowRead[]) =>
  rows.map((read) => ("row" in read ? read.row.value : read.error.message));
const lines = (rows: readonly RowRead[]) =>
  rows.map((read) => ("row" in read ? read.row.at.line : read.error.line));

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  // One buffer for all pieces, as some streams have it.
  const shared = new Uint8Array(size);
  for (let at = 0; at < bytes.length; at += size) {
    const part = bytes.subarray(at, at + size);
    shared.set(part);
    yield shared.subarray(0, part.length);
  }
}

const value = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 });
const normal = (json: unknown) => JSON.parse(JSON.stringify(json)) as unknown;
const indent = fc.constantFrom(undefined, 1, "\t");

describe("JSONL", () => {
  it("gives every object back, wherever the stream is cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(value),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        async (values, size, end) => {
          const text = values.map((one) => JSON.stringify(one)).join("\n") + (end ? "\n\n \n" : "");
          const found = await collect(readJsonl("f", pieces(Buffer.from(text), size)));
          expect(plain(found)).toEqual(normal(values));
          expect(lines(found)).toEqual(values.map((_, index) => index + 1));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("names the line of what is no row, and goes on", async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"a":1}\r\n[2]\n{"b" 3}\n\n{"c":"'),
      Buffer.from([0xc3, 0xff]),
      Buffer.from('"}\n7\n{"d":4}\n{"e":"cut of'),
    ]);
    const found = await collect(readJsonl("f.jsonl", pieces(bytes, 5)));
    expect(plain(found)).toEqual([
      { a: 1 },
      "f.jsonl, line 2: expected a JSON object, found a list of 1",
      expect.stringMatching(/^f\.jsonl, line 3: expected a JSON object, found Expected ':'/),
      "f.jsonl, line 5: expected UTF-8, found byte 0xff at 7 of the row",
      "f.jsonl, line 6: expected a JSON object, found number 7",
      { d: 4 },
      expect.stringMatching(/^f\.jsonl, line 8: expected a JSON object, found a row that the file ends in: /),
    ]);
  });

  it("holds nothing of a line above the limit", async () => {
    const chunk = Buffer.alloc(1024 * 1024, "x");
    async function* source() {
      yield Buffer.from('{"a":1}\n{"b":"');
      for (let i = 0; i < 400; i++) yield chunk;
      yield Buffer.from('"}\n{"c":2}\n');
    }
    const before = process.memoryUsage().rss;
    const found = await collect(readJsonl("f", source(), 2 * 1024 * 1024));
    expect(plain(found)).toEqual([
      { a: 1 },
      "f, line 2: expected at most 2097152 bytes in a row, found more",
      { c: 2 },
    ]);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  });
});

describe("JSON", () => {
  it("gives every item of a list back, wherever the stream is cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(value),
        fc.integer({ min: 1, max: 40 }),
        indent,
        async (values, size, space) => {
          const bytes = Buffer.from(JSON.stringify(values, null, space));
          expect(plain(await collect(readJson("f", pieces(bytes, size))))).toEqual(normal(values));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("gives every member of an object of objects back, with its name", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string(), value, { minKeys: 1 }),
        fc.integer({ min: 1, max: 40 }),
        indent,
        async (rows, size, space) => {
          const found = await collect(
            readJson("f", pieces(Buffer.from(JSON.stringify(rows, null, space)), size)),
          );
          const keys = found.map((read) => ("row" in read ? read.row.key : null));
          expect(keys).toEqual(Object.keys(rows));
          expect(plain(found)).toEqual(normal(Object.values(rows)));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("takes an object whose first member is none as one row", async () => {
    const row = { instance_id: "a", list: [1, { b: "}]" }], number: -1.5e3, nothing: null };
    for (const size of [1, 7, 1000])
      expect(plain(await collect(readJson("f", pieces(Buffer.from(JSON.stringify(row)), size))))).toEqual([
        row,
      ]);
  });

  it("names the line of a bad item, and goes on", async () => {
    const text =
      '[\n{"a": 1},\n{"b": x},\n"text",\n17 ,\n{"big": "0123456789012345678901234567890123456789"},\n{"c": 2}\n]\n';
    const found = await collect(readJson("f", pieces(Buffer.from(text), 3), 30));
    expect(plain(found)).toEqual([
      { a: 1 },
      expect.stringMatching(/^f, line 3: expected a JSON object, found Unexpected token 'x'/),
      'f, line 4: expected a JSON object, found the text "text"',
      "f, line 5: expected a JSON object, found number 17",
      "f, line 6: expected at most 30 bytes in a row, found more",
      { c: 2 },
    ]);
  });

  it("names the row of a bad item, too, since all may stand in one line", async () => {
    const found = await collect(readJson("f.json", pieces(Buffer.from('[{"a":1},7,{"b":2},"x"]'), 5)));
    expect(plain(found)).toEqual([
      { a: 1 },
      "f.json, line 1, row 2: expected a JSON object, found number 7",
      { b: 2 },
      'f.json, line 1, row 4: expected a JSON object, found the text "x"',
    ]);
  });

  it.each([
    ["", "f, line 1: expected a list or an object of rows, found an empty file"],
    ["7", 'f, line 1: expected a list or an object of rows, found "7"'],
    ['[{"a":1}', "f, line 1: expected ] at its end, found a file that is cut off"],
    ['[{"a":1}\n{"b":2}]', 'f, line 2: expected a comma between rows, found "{"'],
    ['[{"a":1}] x', 'f, line 1: expected nothing after the rows, found "x"'],
    ["{a:1}", 'f, line 1: expected a name in quotes, found "a"'],
    ["[,]", 'f, line 1: expected a row, found ","'],
  ])("%j is one error of the file", async (text, message) => {
    const found = await collect(readJson("f", pieces(Buffer.from(text), 100)));
    expect(plain(found).at(-1)).toBe(message);
  });
});

describe("Parquet", () => {
  const golden = (name: string) => join(import.meta.dirname, "../golden/rows", name);

  it.each(["none", "snappy", "gzip", "brotli", "zstd"])(
    "is read as pyarrow wrote it: %s",
    async (compression) => {
      const found = await collect(readRows(golden(`${compression}.parquet`)));
      expect(plain(found)).toEqual(
        [1, 2, 3, 4, 5, 6, 7].map((i) => ({
          instance_id: `a__b-${i}`,
          problem_statement: "é".repeat(i),
          FAIL_TO_PASS: [`t${i}`, `u${i}`],
          install_config: { test_cmd: "pytest -rA", python: "3.9" },
          version: 1.5,
          stars: 2 ** 40 + i,
          nothing: i % 2 === 0 ? "x" : null,
        })),
      );
      expect(found.map((read) => ("row" in read ? read.row.at.row : 0))).toEqual([1, 2, 3, 4, 5, 6, 7]);
    },
  );

  it("refuses the one row whose text is no UTF-8", async () => {
    const found = await collect(readRows(golden("invalid-utf8.parquet")));
    expect(plain(found)).toEqual([
      { instance_id: "ok-1" },
      expect.stringMatching(/row 2, field instance_id: expected UTF-8, found 5 bytes that are none$/),
      { instance_id: "ok-3" },
    ]);
  });

  it("leaves out a row group above the limit, by name", async () => {
    const found = await collect(readParquet(golden("none.parquet"), 10));
    expect(plain(found)[0]).toMatch(
      /none\.parquet, row 1: expected at most 10 bytes in a row group, found \d+ in the group of rows 1 to 3/,
    );
    expect(found).toHaveLength(3);
  });

  it("names a file that is none", async () => {
    const path = join(folder, "not.parquet");
    writeFileSync(path, "PAR1 and nothing more");
    expect(plain(await collect(readRows(path)))[0]).toMatch(/not\.parquet: expected a Parquet file, found /);
  });
});

describe("a path", () => {
  const put = (name: string, content: string | Uint8Array) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };

  it("may begin with a byte order mark of UTF-8, and not of UTF-16", async () => {
    expect(plain(await collect(readRows(put("bom.jsonl", '\ufeff{"a":1}\n'))))).toEqual([{ a: 1 }]);
    const wide = put("wide.jsonl", Buffer.from('\ufeff{"a":1}\n', "utf16le"));
    expect(plain(await collect(readRows(wide)))).toEqual([
      `${wide}: expected UTF-8, found UTF-16, by its byte order mark`,
    ]);
  });

  it("that is nothing, or of another kind, is one error", async () => {
    const missing = join(folder, "missing.jsonl");
    expect(plain(await collect(readRows(missing)))).toEqual([
      `${missing}: expected a file or folder that can be read, found nothing there`,
    ]);
    const other = put("rows.csv", "a,b");
    expect(plain(await collect(readRows(other)))).toEqual([
      `${other}: expected a name that ends in .jsonl, .json or .parquet, found rows.csv`,
    ]);
  });

  it("may be a folder: its files follow in the order of their names", async () => {
    const below = mkdtempSync(join(folder, "many-"));
    writeFileSync(join(below, "b.jsonl"), '{"b":1}\n');
    writeFileSync(join(below, "a.json"), '[{"a":1},{"a":2}]');
    writeFileSync(join(below, "README.md"), "text");
    expect(plain(await collect(readRows(below)))).toEqual([{ a: 1 }, { a: 2 }, { b: 1 }]);
    const empty = mkdtempSync(join(folder, "empty-"));
    expect(plain(await collect(readRows(empty)))).toEqual([
      `${empty}: expected files named .jsonl, .json or .parquet in it, found none`,
    ]);
  });
});
