/** Bash that runs a row's tests in its box, and the verifier made of it. */
import { quoteShell } from "../../../core/shell.ts";
import type { FileChange, ReportFormat, StatusMap, Verifier } from "../../../core/task.ts";

/** Where the repository lies in images of the family. */
export const WORKDIR = "/testbed";

/** Folder of the verifier's own files in the box. */
const FOLDER = "/verify";

/** The family's own limit for a run of the tests. */
export const TEST_SECONDS = 1800;

const script = (name: string, lines: readonly string[]): FileChange => ({
  kind: "write",
  path: `${FOLDER}/${name}`,
  content: `${lines.join("\n")}\n`,
  encoding: "utf8",
  executable: true,
});

function verifierOf(files: readonly FileChange[], format: ReportFormat, exact: StatusMap | null): Verifier {
  return {
    files,
    commands: [{ scope: "", argv: ["bash", `${FOLDER}/run.sh`], format, reportFile: null }],
    exact,
    timeoutSeconds: TEST_SECONDS,
  };
}

/** Images of the family keep their packages in a conda environment of this name. */
const ACTIVATE = [
  "if [ -f /opt/miniconda3/bin/activate ]; then",
  "  . /opt/miniconda3/bin/activate && conda activate testbed",
  "fi",
];

/** Runs `command` in the repository. Its exit code is the command's own, and so is cross-checked with its report. */
export function commandVerifier(command: readonly string[], format: ReportFormat): Verifier {
  return verifierOf([script("run.sh", ["#!/bin/bash", ...ACTIVATE, ...command])], format, null);
}

/**
 * Runs a row's `eval_script` and prints what lies between its markers. The script ends with whatever tidies up, so its exit code says nothing
 * unless a signal ended it: 0 where each marker was printed once, in order, 1 otherwise. What runs before the tests (a change's own set-up script) and
 * the tests can print markers, too, but not keep the script from printing its own. Bash shows an `echo` of one before it does it (`set -x`).
 */
export function evalScriptVerifier(evalScript: string, format: ReportFormat): Verifier {
  const between = [
    "/^[+]+ echo / { if (starts == 1 && !ends) print; next }",
    'index($0, ">>>>> Start Test Output") { starts++; if (ends) wrong = 1; next }',
    'index($0, ">>>>> End Test Output") { ends++; if (!starts) wrong = 1; next }',
    "starts == 1 && !ends",
    "END { exit (wrong || starts != 1 || ends != 1) }",
  ];
  const eval_ = script("eval.sh", [evalScript.replace(/\n$/, "")]);
  const run = script("run.sh", [
    "#!/bin/bash",
    `bash ${FOLDER}/eval.sh </dev/null 2>&1 | awk '`,
    ...between.map((line) => `  ${line}`),
    "'",
    // The first before anything else sets it anew.
    `ended=("\${PIPESTATUS[@]}")`,
    `[ "\${ended[0]}" -le 128 ] && [ "\${ended[1]}" -eq 0 ]`,
  ]);
  return verifierOf([eval_, run], format, null);
}

/**
 * Runs R2E-Gym's script, whose tests are linked into the repository for as long as it takes. Expected names are a test's id without its file,
 * joined by dots: the summary of pytest is rewritten so. The exit code is no label.
 */
export function exactVerifier(exact: StatusMap): Verifier {
  const rename = [
    '/^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) / && index($0, "::") {',
    '  status = $1; name = substr($0, index($0, "::") + 2); gsub(/::/, ".", name)',
    "  print status, name; next",
    "}",
    "{ print }",
  ];
  const run = script("run.sh", [
    "#!/bin/bash",
    `tests=${WORKDIR}/r2e_tests`,
    'for hidden in /root/r2e_tests /r2e_tests; do [ -e "$tests" ] || { [ -d "$hidden" ] && ln -s "$hidden" "$tests"; }; done',
    `for run in /root/run_tests.sh ${WORKDIR}/run_tests.sh; do [ -f "$run" ] && break; done`,
    `cd ${WORKDIR}`,
    'bash "$run" </dev/null 2>&1 | sed "s/\\x1b\\[[0-9;]*m//g" | awk \'',
    ...rename.map((line) => `  ${line}`),
    "'",
    "exit 0",
  ]);
  return verifierOf([run], "pytest", exact);
}

/** For Bash, whatever the text holds. */
export const quoted = (text: string): string =>
  /^[A-Za-z0-9_./@%+=:,-]+$/.test(text) ? text : quoteShell(text);

/** A user's or a row's command with the tests' files in it. */
export function withTests(command: string, tests: readonly string[]): string {
  const files = tests.map(quoted).join(" ");
  return command.includes("{tests}")
    ? command.replaceAll("{tests}", () => files)
    : `${command} ${files}`.trimEnd();
}
