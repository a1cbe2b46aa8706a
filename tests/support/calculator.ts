/** A package of Python with its repository, and tasks in it that bring their own verifiers: nothing is downloaded. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { FileChange, StatusMap, Task, TestCommand, Verifier } from "../../core/task.ts";
import type { PreparedEnvironment } from "../../services/environments/index.ts";
import type { SandboxImage } from "../../services/sandbox/index.ts";

export const write = (path: string, content: string, executable = false): FileChange => ({
  ...{ kind: "write", path, content, encoding: "utf8" },
  ...(executable && { executable }),
});

const BUG = "def add(a, b):\n    return a - b\n\n\ndef zero():\n    return 0\n";
export const FIX = BUG.replace("a - b", "a + b");

const OLD_TEST = `import unittest
import calc

class Old(unittest.TestCase):
    def test_zero(self):
        self.assertEqual(calc.zero(), 0)
`;

/** Hidden: it comes with the verifier. */
const NEW_TEST = `${OLD_TEST}
class New(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(2, 3), 5)
`;

const TREE = { "calc.py": BUG, "tests/__init__.py": "", "tests/test_calc.py": OLD_TEST };

/** Writes the tree as one commit. */
export function calculatorTree(root: string): void {
  for (const [path, content] of Object.entries(TREE)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@b.c", ...args], {
      stdio: "pipe",
    });
  git("init", "--quiet");
  git("add", ".");
  git("commit", "--quiet", "--message", "base");
}

export const calculator = (root: string, image: SandboxImage | null): PreparedEnvironment => ({
  key: "calculator@1.0.0-000000000000",
  entry: {
    name: "calculator",
    source: "docker:calculator",
    role: "train",
    sources: ["calc.py"],
    tests: ["tests"],
    framework: "command",
  },
  root,
  modules: root,
  image,
  mounts: [],
  env: { PYTHONDONTWRITEBYTECODE: "1" },
  commands: [{ scope: "", argv: ["python3", "-m", "unittest", "-v"], format: "unittest", reportFile: null }],
  baseline: {},
  baselineRuns: 1,
  cpuSeconds: 0.2,
  unstable: [],
});

export const unittestCommand: TestCommand = {
  scope: "",
  argv: ["python3", "-m", "unittest", "-v", "tests.test_calc"],
  format: "unittest",
  reportFile: null,
};

export const verifierOf = (
  commands: readonly TestCommand[],
  files: readonly FileChange[] = [],
  exact: StatusMap | null = null,
): Verifier => ({
  files: [write("tests/test_calc.py", NEW_TEST), ...files],
  ...{ commands, exact, timeoutSeconds: 8 },
});

export const calculatorTask = (
  verifier: Verifier,
  failToPass: readonly string[],
  passToPass: readonly string[],
): Task => ({
  ...{
    id: "t00000000000000ca",
    environment: "calculator@1.0.0-000000000000",
    type: "bug",
    generator: "import",
  },
  ...{ base: [], gold: [write("calc.py", FIX)], hiddenFiles: [], failToPass, passToPass, functions: [] },
  ...{ facts: { sites: [], reproduction: null }, verifier },
});
