/** Which paths steer how tests are found, loaded or run, by report format: what a change does there is left out. Pure. */
import type { ReportFormat } from "../../core/task.ts";

/** Paths of one toolchain that belong to whoever judges. */
interface Steering {
  /** Files and folders at the tree's root. */
  readonly root: readonly string[];
  /** Names of files and folders at any depth. */
  readonly anywhere: readonly string[];
  /** Names of files and folders, by pattern, at any depth. */
  readonly patterns: readonly RegExp[];
}

const steering = (parts: Partial<Steering>): Steering => ({ root: [], anywhere: [], patterns: [], ...parts });

/** Scripts and module type, registry and flags, Node's version, the modules themselves. */
const NODE = steering({ root: ["package.json", ".npmrc", ".node-version", "node_modules"] });

/** How TypeScript and JSX become what runs, and where their imports lead. */
const TRANSPILED = steering({
  anywhere: [".babelrc", ".swcrc"],
  patterns: [/^tsconfig(\..+)?\.json$/, /^babel\.config\.\w+$/, /^\.babelrc\.\w+$/],
});

const MOCHA = steering({ patterns: [/^\.mocharc\.\w+$/], anywhere: ["mocha.opts"] });
const JEST = steering({
  patterns: [/^jest\.config\.\w+$/, /^jest\.setup\.\w+$/],
  anywhere: ["__mocks__", "__snapshots__"],
});
const VITEST = steering({
  patterns: [/^vitest\.(config|workspace|setup)\.\w+$/, /^vite\.config\.\w+$/],
  anywhere: ["__mocks__", "__snapshots__"],
});

/**
 * Configuration and plugins of the runner; modules that Python imports before or instead of it (the tree's root is on its path); compiled files that
 * stand for a protected source; entry points that load plugins; environments inside the tree.
 */
const PYTHON = steering({
  root: [
    ...["pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"],
    ...["pytest", "_pytest", "pytest.py", "pluggy", "pluggy.py", "iniconfig", "unittest", "unittest.py"],
    ...[".venv", "venv"],
  ],
  anywhere: [
    ...["conftest.py", "sitecustomize.py", "usercustomize.py"],
    ...["__pycache__", "site-packages", "dist-packages"],
  ],
  patterns: [/\.pth$/, /\.pyc$/, /\.(egg|dist)-info$/],
});

/** Test code, `TestMain` with it, by the toolchain's own rule; what it reads; which modules are built. */
const GO = steering({
  root: ["go.mod", "go.sum", "go.work", "go.work.sum", "vendor"],
  anywhere: ["testdata"],
  patterns: [/_test\.go$/],
});

/** Targets and dependencies, what runs before the build, the compiler. Unit tests inside sources cannot be told from them. */
const CARGO = steering({
  root: ["Cargo.lock", ".cargo", "vendor", "target"],
  anywhere: ["Cargo.toml", "build.rs", "rust-toolchain", "rust-toolchain.toml"],
});

const BY_FORMAT: Readonly<Record<ReportFormat, readonly Steering[]>> = {
  tap: [NODE],
  "node-test": [NODE, TRANSPILED],
  mocha: [NODE, TRANSPILED, MOCHA],
  jest: [NODE, TRANSPILED, JEST],
  vitest: [NODE, TRANSPILED, VITEST],
  pytest: [PYTHON],
  unittest: [PYTHON],
  "go-test": [GO],
  "cargo-test": [CARGO],
  // Written by runners of many languages.
  junit: [NODE, TRANSPILED, MOCHA, JEST, VITEST, PYTHON, GO, CARGO],
  // Such a verifier brings all that it needs, and the task may well be about a file that another format would protect.
  reward: [],
};

/** The repository's own history and settings are never graded; a nested `.git` is files like any other. */
const NEVER_GRADED = ".git";

/** Whether a path, or a folder above it, steers the tests of one of the formats. */
export function steersTests(path: string, formats: Iterable<ReportFormat>): boolean {
  const parts = path.split("/");
  if (parts[0] === NEVER_GRADED) return true;
  return [...new Set([...formats].flatMap((format) => BY_FORMAT[format]))].some(
    ({ root, anywhere, patterns }) =>
      root.includes(parts[0]!) ||
      parts.some((part) => anywhere.includes(part) || patterns.some((pattern) => pattern.test(part))),
  );
}

/** What a change may not decide, and what of it the task is about. */
export interface Protection {
  /** Files and folders of the tree: tests, a verifier's files, reports. */
  readonly roots: readonly string[];
  /** Paths of the reference solution: they may steer tests, but are none. */
  readonly allowed: ReadonlySet<string>;
  /** Formats of the commands' reports. */
  readonly formats: ReadonlySet<ReportFormat>;
}

/** Whether a change of this path is left out: it is protected, lies in what is, or would stand in the place of a folder above it. */
export const isProtected = (path: string, { roots, allowed, formats }: Protection): boolean =>
  roots.some((root) => path === root || path.startsWith(`${root}/`) || root.startsWith(`${path}/`)) ||
  (!allowed.has(path) && steersTests(path, formats));
