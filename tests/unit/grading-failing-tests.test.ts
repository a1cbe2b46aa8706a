/** A verifier's tests made to fail: each kind of test keeps its name and fails, run by Python itself. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileChange, Task } from "../../core/task.ts";
import { failingVerifier, judgedNames } from "../../services/grading/failing-tests.ts";

const write = (path: string, content: string): FileChange => ({
  ...{ kind: "write", path, content, encoding: "utf8" },
});
const verifier = (...files: FileChange[]) => ({ files, commands: [], exact: null, timeoutSeconds: 1 });
const made = (content: string): string => {
  const [file] = failingVerifier(verifier(write("test_a.py", content)))!.files;
  return file?.kind === "write" ? file.content : "";
};

const TESTS = `from __future__ import annotations
import unittest
from os.path import join as test_join_of_another_module

def helper(): return 1

class Cases(unittest.TestCase):
    def test_passes(self): pass
    @unittest.expectedFailure
    def test_is_expected(self): self.fail()
    def help(self): pass

class More(Cases):
    async def test_later(self): pass

helper()
if __name__ == "__main__":
    unittest.main()
`;

function run(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "failing-"));
  try {
    writeFileSync(join(folder, "test_a.py"), text);
    const script = "python3 test_a.py -v 2>&1 | grep -E '^(test|Ran|OK|FAILED)'; true";
    return execFileSync("bash", ["-c", script], { cwd: folder, encoding: "utf8" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("failingVerifier", () => {
  it("leaves no test that passes, and each its name", () => {
    const names = (output: string) => [...output.matchAll(/^(test\w+ .*) \.\.\./gm)].map(([, name]) => name);
    const before = run(TESTS);
    const after = run(made(TESTS));
    expect(before).toContain("... ok");
    expect(after).not.toContain("... ok");
    expect(names(after)).toEqual(names(before));
    expect(names(after)).toHaveLength(5);
    expect(after).toContain("FAILED");
  });

  it("has none where no Python test is among the files", () => {
    const others = [
      write("run.sh", "def test_x(): pass"),
      write("conftest.py", "import pytest\n"),
      { kind: "delete", path: "test_b.py" } as const,
    ];
    expect(failingVerifier(verifier(...others))).toBeUndefined();
    const { files } = failingVerifier(verifier(...others, write("t.py", "def test_x(): pass\n")))!;
    expect(files.slice(0, 3)).toEqual(others);
  });
});

describe("judgedNames", () => {
  it("are those of a solution: an exact map's passes, else what the task is about", () => {
    const task = { failToPass: ["a"], passToPass: ["b"] } as unknown as Task;
    expect(judgedNames(task)).toEqual(["a"]);
    expect(judgedNames({ ...task, failToPass: [] })).toEqual(["b"]);
    const exact = { b: "passed", c: "failed" } as const;
    expect(judgedNames({ ...task, verifier: { ...verifier(), exact } })).toEqual(["b"]);
  });
});
