/** What the rows of SWE-bench and of those after it share. */
import type { ReportFormat, Verifier } from "../../../core/task.ts";
import { parseDiff } from "../diff/index.ts";
import type { Row } from "../rows/index.ts";
import { ImportError, type ImportedTask } from "../types.ts";
import { checkDiff, testNames, text } from "./fields.ts";
import { formatOfLogParser, KNOWN_LOG_PARSERS } from "./log-parsers.ts";

/** What every row of the family has; unknown fields are left out. */
export const familyFields = {
  instance_id: text,
  repo: text,
  patch: text,
  FAIL_TO_PASS: testNames,
  PASS_TO_PASS: testNames,
};

/** The images that SWE-bench publishes. */
export const imageName = (owner: string, id: string): string =>
  `${owner}/sweb.eval.x86_64.${id.toLowerCase().replaceAll("__", "_1776_")}:latest`;

/** Throws ImportError `unsupported`, naming the parser. */
export function logFormat(row: Row, field: string, parser: string): ReportFormat {
  const format = formatOfLogParser(parser);
  if (format !== undefined) return format;
  throw new ImportError(
    "unsupported",
    { ...row.at, field },
    `one of ${KNOWN_LOG_PARSERS.join(", ")} (or --test and --report)`,
    JSON.stringify(parser),
  );
}

interface PullRequest {
  readonly format: ImportedTask["origin"]["format"];
  readonly image: string;
  readonly workdir: string | null;
  readonly verifier: Verifier;
  readonly notes: readonly string[];
}

/** A task whose gold is a patch, and whose tests come with another. */
export function pullRequest(
  row: Row,
  fields: {
    readonly [field in "instance_id" | "problem_statement" | "patch" | "test_patch"]: string;
  } & { readonly FAIL_TO_PASS: readonly string[]; readonly PASS_TO_PASS: readonly string[] },
  { format, image, workdir, verifier, notes }: PullRequest,
): ImportedTask {
  checkDiff(row, "patch", fields.patch);
  requireTests(row, fields.FAIL_TO_PASS);
  const moved = parseDiff(fields.test_patch).filter(({ kind }) => kind === "delete");
  return {
    origin: { format, id: fields.instance_id, ...row.at },
    type: "bug",
    statement: { level: 0, text: fields.problem_statement },
    environment: {
      image: { kind: "image", reference: image },
      workdir,
      env: {},
      limits: {},
      cpus: null,
      network: "none",
    },
    base: [],
    gold: { kind: "diff", field: "patch", text: fields.patch, reverse: false },
    tests: [{ kind: "diff", field: "test_patch", text: fields.test_patch, reverse: false }],
    hiddenFiles: [],
    testFiles: filesOfTests([...fields.FAIL_TO_PASS, ...fields.PASS_TO_PASS]).filter(
      (path) => !moved.some(({ oldPath }) => oldPath === path),
    ),
    failToPass: distinct(fields.FAIL_TO_PASS),
    passToPass: distinct(fields.PASS_TO_PASS),
    verifier,
    notes,
  };
}

export function requireTests(row: Row, failToPass: readonly string[]): void {
  if (failToPass.length === 0)
    throw new ImportError("field", { ...row.at, field: "FAIL_TO_PASS" }, "the name of a test", "none");
}

export const distinct = (names: readonly string[]): string[] => [...new Set(names)];

/** Files of pytest's ids (`tests/test_a.py::test_b`), sorted. */
export function filesOfTests(names: readonly string[]): string[] {
  const files = names.flatMap((name) => {
    const at = name.indexOf("::");
    return at > 0 && !/^\/|(^|\/)\.\.?(\/|$)/.test(name.slice(0, at)) ? [name.slice(0, at)] : [];
  });
  return [...new Set(files)].sort();
}
