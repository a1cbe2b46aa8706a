/** The command line's frame: flags, help, exit codes, errors, tables. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommanderError } from "commander";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeError, UsageError } from "../../apps/cli/errors.ts";
import { formatSeconds, formatTable, type Output, ProgressLine } from "../../apps/cli/output.ts";
import { StackError } from "../../infra/stack/errors.ts";
import { packageRoot } from "../../infra/stack/paths.ts";

function tadpole(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(packageRoot, "bin/tadpole.mjs"), ...args],
    {
      encoding: "utf8",
    },
  );
  return { status, stdout, stderr };
}

describe("tadpole", () => {
  it("lists every command in its help and ends with 0", () => {
    const { status, stdout } = tadpole("--help");
    expect(status).toBe(0);
    for (const file of readdirSync(join(packageRoot, "apps/cli/commands")))
      expect(stdout).toContain(`\n  ${file.slice(0, -3)} `);
    expect(stdout).toContain("Examples:");
  });

  it("shows its help and ends with 2 when nothing is asked", () => {
    expect(tadpole()).toMatchObject({ status: 2, stdout: expect.stringContaining("Usage: tadpole") });
  });

  it("has a help with examples for a command", () => {
    expect(tadpole("status", "--help")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("$ tadpole status --json"),
    });
  });

  it.each([
    [["fly"], "unknown command 'fly'"],
    [["up", "--fast"], "unknown option '--fast'"],
    [["down", "now"], "too many arguments"],
  ])("refuses %j in one line with exit code 2", (args, message) => {
    const { status, stdout, stderr } = tadpole(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^tadpole: .*\n$/);
    expect(stderr).toContain(message);
  });

  it("tells errors as JSON with --json, before or after the command", () => {
    for (const args of [
      ["--json", "fly"],
      ["up", "--fast", "--json"],
    ]) {
      const { status, stderr } = tadpole(...args);
      expect(status).toBe(2);
      expect(JSON.parse(stderr)).toEqual({
        error: { kind: "usage", message: expect.stringMatching(/^unknown/) },
      });
    }
  });

  it("says what to do where its packages are not installed", () => {
    const root = mkdtempSync(join(tmpdir(), "tadpole-bare-"));
    try {
      mkdirSync(join(root, "bin"));
      copyFileSync(join(packageRoot, "bin/tadpole.mjs"), join(root, "bin/tadpole.mjs"));
      const { status, stderr } = spawnSync(process.execPath, [join(root, "bin/tadpole.mjs"), "up"], {
        encoding: "utf8",
      });
      expect(status).toBe(1);
      expect(stderr).toMatch(/^tadpole: its packages are not installed; run "npm start".*\n$/);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});

describe("describeError", () => {
  const settings = Object.assign(new Error("file.yaml: seed: expected a number"), {
    name: "SettingsError",
    kind: "wrong-type",
  });

  it.each([
    [new UsageError("no experiment x"), "usage", 2],
    [new CommanderError(1, "commander.unknownOption", "error: unknown option"), "usage", 2],
    [new StackError("port", "port 1 is occupied"), "port", 2],
    [new StackError("failed", "postgres does not stay up"), "failed", 1],
    [settings, "wrong-type", 2],
    [Object.assign(new Error("write ENOSPC"), { code: "ENOSPC" }), "disk", 2],
    [new TypeError("x is not a function\n at y"), "internal", 1],
    ["thrown text", "internal", 1],
  ])("%s", (error, kind, exitCode) => {
    expect(describeError(error)).toMatchObject({ kind, exitCode });
  });

  it("shows no stack and no prefix of Commander", () => {
    expect(describeError(new TypeError("x is not a function\n at y")).message).toBe("x is not a function");
    expect(describeError(new CommanderError(1, "c", "error: unknown option")).message).toBe("unknown option");
  });
});

describe("formatTable", () => {
  const columns = [
    { title: "name", value: (row: readonly [string, number | null]) => row[0] },
    { title: "count", align: "right" as const, value: (row: readonly [string, number | null]) => row[1] },
  ];

  it("aligns columns and shows null as a dash", () => {
    const rows: [string, number | null][] = [
      ["postgres", 12],
      ["é", null],
    ];
    expect(formatTable(rows, columns)).toBe("name      count\npostgres     12\né             –");
  });

  it("has a line per row, each column beginning where its title begins", () => {
    const word = fc.stringMatching(/^[a-z]{1,12}$/);
    fc.assert(
      fc.property(fc.array(fc.tuple(word, fc.nat())), (rows) => {
        const lines = formatTable(rows, columns).split("\n");
        expect(lines).toHaveLength(rows.length + 1);
        const end = lines[0]!.length;
        for (const [index, [name, count]] of rows.entries()) {
          expect(lines[index + 1]!.startsWith(name)).toBe(true);
          expect(lines[index + 1]!.slice(0, end).endsWith(String(count))).toBe(true);
        }
      }),
    );
  });
});

describe("formatSeconds", () => {
  it.each([
    [0.04, "0.0 s"],
    [9.94, "9.9 s"],
    [42.4, "42 s"],
    [185, "3 min 05 s"],
    [7620, "2 h 07 min"],
  ])("%d", (seconds, text) => {
    expect(formatSeconds(seconds)).toBe(text);
  });
});

describe("ProgressLine", () => {
  function collect(isTTY: boolean): { output: Output; text: () => string } {
    let text = "";
    return {
      output: {
        isTTY,
        columns: 30,
        write: (part) => {
          text += part;
        },
      },
      text: () => text,
    };
  }

  it("redraws its block in place on a terminal, no line wider than it", () => {
    const { output, text } = collect(true);
    const progress = new ProgressLine(output);
    progress.draw(["a".repeat(100), "b"]);
    progress.draw(["c"]);
    progress.note("done");
    expect(text()).toBe(`${"a".repeat(29)}\nb\n\u001b[2A\u001b[0Jc\n\u001b[1A\u001b[0Jdone\n`);
  });

  it("writes only lines that stay elsewhere", () => {
    const { output, text } = collect(false);
    const progress = new ProgressLine(output);
    progress.draw(["a"]);
    progress.note("done");
    expect(text()).toBe("done\n");
  });
});
