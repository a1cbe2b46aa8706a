import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseArguments, runTool, TOOL_DEFINITIONS } from "../../services/harness/index.ts";
import { timeoutSeconds } from "../../services/harness/tools/bash.ts";
import { globMatcher } from "../../services/harness/tools/pattern.ts";
import { codePoints, splitLines, truncate } from "../../services/harness/tools/python.ts";
import { SandboxError } from "../../services/sandbox/runtime.ts";
import { type FolderSandbox, openFolder } from "./harness-sandbox.ts";

describe("a call with anything at all in it", () => {
  let sandbox: FolderSandbox;
  beforeAll(async () => {
    sandbox = await openFolder({ "a.js": "x\n", "dir/b.js": "y\n" });
  });
  afterAll(() => sandbox.destroy());

  /** The shell is left out: an arbitrary text there is an arbitrary command on this machine. */
  const name = fc.oneof(fc.constantFrom("Read", "Edit", "Glob", "constructor", "__proto__"), fc.string());
  const key = fc.constantFrom(
    "file_path",
    "path",
    "pattern",
    "offset",
    "limit",
    "old_string",
    "new_string",
    "replace_all",
  );
  const value = fc.oneof(
    fc.jsonValue(),
    fc.string({ unit: "binary" }),
    fc.constantFrom("a.js", "dir", "**", "\ud800", "a\0", "x"),
  );
  const args = fc.oneof(fc.dictionary(key, value), fc.jsonValue()).map((one) => JSON.stringify(one));

  it("gives a text", async () => {
    await fc.assert(
      fc.asyncProperty(name, fc.oneof(args, fc.string()), async (tool, text) => {
        expect(typeof (await runTool(sandbox, tool, parseArguments(text)))).toBe("string");
      }),
      { numRuns: 300 },
    );
  });

  it("gives a text for whatever Bash is asked, short of a command", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.jsonValue()), async (timeout) => {
        const result = await runTool(sandbox, "Bash", { command: "", timeout });
        expect(result).toBe("ValueError: command is required");
        expect(() => {
          try {
            expect(timeoutSeconds({ timeout })).toBeGreaterThanOrEqual(0.1);
          } catch (error) {
            expect(error).toMatchObject({ name: "ToolError" });
          }
        }).not.toThrow();
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    [
      "Read",
      { file_path: "missing.js" },
      "FileNotFoundError: [Errno 2] No such file or directory: '<cwd>/missing.js'",
    ],
    ["Read", { file_path: "dir" }, "IsADirectoryError: [Errno 21] Is a directory: '<cwd>/dir'"],
    ["Read", { file_path: "a.js/b" }, "NotADirectoryError: [Errno 20] Not a directory: '<cwd>/a.js/b'"],
    ["Read", { file_path: "a\0b" }, "ValueError: embedded null byte"],
    [
      "Read",
      { file_path: "a.js", offset: "one" },
      "ValueError: invalid literal for int() with base 10: 'one'",
    ],
    [
      "Read",
      { file_path: "a.js", limit: [1] },
      "TypeError: int() argument must be a string, a bytes-like object or a real number, not 'list'",
    ],
    ["Bash", { command: "true", timeout: "soon" }, "ValueError: could not convert string to float: 'soon'"],
    [
      "Bash",
      { command: `: ${"x".repeat(140_000)}` },
      "OSError: [Errno 7] Argument list too long: '/bin/bash'",
    ],
    [
      "Write",
      { file_path: "s.txt", content: "ab\ud800" },
      "UnicodeEncodeError: 'utf-8' codec can't encode character '\\ud800' in position 2: surrogates not allowed",
    ],
    ["Write", { file_path: "j.txt", content: { a: [1, "x", null, true] } }, "Wrote j.txt (27 bytes)."],
    ["Glob", { pattern: "dir/../*.js" }, "a.js"],
    ["Glob", { pattern: "dir" }, "No files matched."],
  ])("%s %j answers %s", async (tool, given, expected) => {
    const result = await runTool(sandbox, tool, given);
    expect(result.replaceAll(sandbox.workdir, "<cwd>")).toBe(expected);
  });

  it("throws when the sandbox itself is lost, and hides what the host said", async () => {
    const lost = { ...sandbox, stat: async () => Promise.reject(new SandboxError("lost", "gone")) };
    await expect(runTool(lost, "Read", { file_path: "a.js" })).rejects.toMatchObject({ kind: "lost" });
    const outside = { ...sandbox, stat: async () => Promise.reject(new SandboxError("path", "/host/path")) };
    expect(await runTool(outside, "Read", { file_path: "/x" })).toBe(
      "PermissionError: [Errno 13] Permission denied: '/x'",
    );
  });
});

describe("Python's rules", () => {
  it("reads a timeout above 1000 as milliseconds", () => {
    expect(timeoutSeconds({ timeout: 1000 })).toBe(1000);
    expect(timeoutSeconds({ timeout: 1001 })).toBe(1.001);
    expect(timeoutSeconds({ timeout: "2.5" })).toBe(2.5);
    expect(timeoutSeconds({ timeout: null })).toBe(120);
    expect(timeoutSeconds({ timeout: Number.POSITIVE_INFINITY })).toBe(3600);
    expect(timeoutSeconds({ timeout: "nan" })).toBe(0.1);
  });

  it("cuts by characters, never inside one", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(20), (text, limit) => {
        const points = [...text];
        const expected =
          points.length <= limit
            ? text
            : `${points.slice(0, limit).join("")}\n[truncated ${points.length - limit} chars]`;
        expect(truncate(text, limit)).toBe(expected);
        expect(codePoints(text)).toBe(points.length);
      }),
    );
  });

  it("splits lines so that joining them with a newline gives the text back where it has no other line end", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "b", "\n") }), (text) => {
        expect(splitLines(text).join("\n")).toBe(text.replace(/\n$/, ""));
      }),
    );
  });

  it.each([
    ["*", "a", true],
    ["*", ".a", false],
    [".*", ".a", true],
    ["a*b*c", "axxbxxc", true],
    ["a*b*c", "axxbxx", false],
    ["[!a-c]", "d", true],
    ["[!a-c]", "b", false],
    ["[]]", "]", true],
    ["[", "[", true],
    ["**/x", "x", true],
    ["**/x", "a/b/x", true],
    ["**/x", "a/.b/x", false],
    ["a/**", "a/b/c", true],
    ["a**", "ab/c", false],
    ["?", "😀", true],
    ["**/**/x", "a/x", true],
  ])("matches %s with %s: %s", (pattern, path, expected) => {
    expect(globMatcher(pattern.split("/"))(path.split("/"))).toBe(expected);
  });

  it("describes each tool by a schema whose required arguments exist", () => {
    expect(TOOL_DEFINITIONS.map((tool) => tool.function.name)).toEqual([
      "Read",
      "Write",
      "Edit",
      "Glob",
      "Bash",
    ]);
    for (const { function: tool } of TOOL_DEFINITIONS) {
      const { properties, required } = tool.parameters as { properties: object; required: string[] };
      expect(Object.keys(properties)).toEqual(expect.arrayContaining(required));
    }
  });
});
