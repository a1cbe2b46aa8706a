/** Parsers against reports of the real tools, as printed and as changed on their way. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { REPORT_FORMATS, type ReportFormat, type StatusMap } from "../../core/task.ts";
import { parseReport, type ReportInput } from "../../services/grading/parsers/index.ts";

const ROOT = join(import.meta.dirname, "../golden/reports");

interface Golden {
  readonly id: string;
  readonly format: ReportFormat;
  readonly extension: string;
  readonly input: ReportInput;
  readonly complete: boolean;
  readonly statuses: StatusMap;
}

const goldens = readdirSync(ROOT, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== "projects")
  .flatMap(({ name }) => readFolder(name));

function readFolder(tool: string): Golden[] {
  const suffix = ".expected.json";
  return readdirSync(join(ROOT, tool))
    .filter((file) => file.endsWith(suffix))
    .map((file) => {
      const base = join(ROOT, tool, file.slice(0, -suffix.length));
      const expected = JSON.parse(readFileSync(base + suffix, "utf8"));
      const extension = ["txt", "json", "xml"].find((end) => existsSync(`${base}.${end}`))!;
      const stderr = existsSync(`${base}.stderr.txt`) ? readFileSync(`${base}.stderr.txt`, "utf8") : "";
      const text = readFileSync(`${base}.${extension}`, "utf8");
      const input = {
        text,
        stderr,
        truncated: false,
        exitCode: expected.exitCode,
        scope: "",
        workdir: "/repo",
      };
      return { id: `${tool}/${file.slice(0, -suffix.length)}`, extension, input, ...expected };
    });
}

const parse = ({ format, input }: Golden, change: (text: string) => string = (text) => text) =>
  parseReport(format, { ...input, text: change(input.text), stderr: change(input.stderr) });

const size = (statuses: StatusMap): number => Object.keys(statuses).length;

describe("reports of the real tools", () => {
  it("exist for every format but the reward file", () => {
    expect([...new Set(goldens.map(({ format }) => format)), "reward"].sort()).toEqual(
      [...REPORT_FORMATS].sort(),
    );
  });

  it.each(goldens.map((golden) => [golden.id, golden] as const))("%s", (_, golden) => {
    const { statuses, complete } = parse(golden);
    expect({ statuses, complete }).toEqual({ statuses: golden.statuses, complete: golden.complete });
  });
});

describe("the same reports of another working tree", () => {
  const files = goldens.filter(({ input }) => `${input.text}${input.stderr}`.includes("/repo/"));

  it.each(files.map((golden) => [golden.id, golden] as const))("have the same names: %s", (_, golden) => {
    const move = (text: string) => text.replaceAll("/repo/", "/testbed/");
    const { input, format } = golden;
    const moved = { ...input, text: move(input.text), stderr: move(input.stderr), workdir: "/testbed" };
    expect(parseReport(format, moved).statuses).toEqual(golden.statuses);
  });

  it("are of jest, vitest and node --test at least", () => {
    const formats = new Set(files.map(({ format }) => format));
    expect([...formats]).toEqual(expect.arrayContaining(["jest", "vitest", "node-test"]));
  });
});

describe("the same reports on their way", () => {
  const check = (golden: Golden, change: (text: string) => string) => {
    const { statuses, complete } = parse(golden, change);
    expect({ id: golden.id, statuses, complete }).toEqual({
      id: golden.id,
      statuses: golden.statuses,
      complete: golden.complete,
    });
  };
  const texts = goldens.filter(({ extension }) => extension === "txt");

  it("read the same with CRLF", () => {
    for (const golden of goldens) check(golden, (text) => text.replaceAll("\n", "\r\n"));
  });

  it("read the same with every line coloured", () => {
    const coloured = (text: string) =>
      text.split("\n").map((line) => `\x1b[1m\x1b[38;5;208m${line}\x1b[0m\x1b[K`);
    for (const golden of texts) check(golden, (text) => coloured(text).join("\n"));
  });

  it("read the same with log lines between all others", () => {
    const log = "\n2026-01-01 00:00:00,000 INFO server: request ok - 1 failed (5 ms)\n";
    // unittest writes the details of failures in one piece.
    for (const golden of texts.filter(({ format }) => format !== "unittest"))
      check(golden, (text) => text.replaceAll("\n", log));
  });

  it("are never complete when cut, ended by a signal, or without a test", () => {
    for (const golden of goldens) {
      const { format, input } = golden;
      expect(parseReport(format, { ...input, truncated: true }).complete).toBe(false);
      expect(parseReport(format, { ...input, exitCode: null }).complete).toBe(false);
      if (size(golden.statuses) === 0) expect(golden.complete).toBe(false);
    }
  });

  it("put the scope before every name", () => {
    for (const { format, input, statuses } of goldens) {
      const scoped = parseReport(format, { ...input, scope: "part" });
      expect(scoped.statuses).toEqual(
        Object.fromEntries(Object.entries(statuses).map(([name, status]) => [`part > ${name}`, status])),
      );
    }
  });
});

/** pytest's short summary has no names of skipped tests: progress may lose them. */
const ran = (statuses: StatusMap): number =>
  Object.values(statuses).filter((status) => status !== "skipped").length;

/** A beginning may be whole: a row of reports, each by itself, or a report that a test printed. */
const isRow = ({ format, id }: Golden): boolean =>
  format === "go-test" || format === "cargo-test" || id.endsWith("good-twice") || id.endsWith("fake");

describe("what is missing shows", () => {
  const whole = goldens.filter(({ complete }) => complete);

  it("a beginning alone is not complete, unless nothing was lost", () => {
    for (const golden of whole.filter((one) => !isRow(one))) {
      for (let part = 1; part < 24; part++) {
        const cut = parse(golden, (text) => text.slice(0, Math.floor((text.length * part) / 24)));
        if (cut.complete) expect([golden.id, part, cut.statuses]).toEqual([golden.id, part, golden.statuses]);
      }
    }
  });

  it("a lost line that loses a result leaves the report incomplete", () => {
    let lost = 0;
    for (const golden of whole.filter(({ id }) => !/(?:fake|twice)$/.test(id))) {
      const lines = golden.input.text.split("\n");
      const step = Math.ceil(lines.length / 100);
      for (let at = 0; at < lines.length; at += step) {
        // In go's text, a result of a test that never began is what another test printed, and a package that
        // does not build has no line but its own.
        if (/^=== RUN|\[build failed\]$/.test(lines[at]!)) continue;
        const { statuses, complete } = parseReport(golden.format, {
          ...golden.input,
          text: lines.toSpliced(at, 1).join("\n"),
        });
        if (ran(statuses) === ran(golden.statuses)) continue;
        lost++;
        expect([golden.id, lines[at], complete]).toEqual([golden.id, lines[at], false]);
      }
    }
    expect(lost).toBeGreaterThan(100);
  });
});
