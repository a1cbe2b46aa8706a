/** The script around a row's `eval_script`, run by Bash: what it prints, and when its exit code says that the report is not whole. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { evalScriptVerifier } from "../../services/formats/swe/scripts.ts";

const START = ">>>>> Start Test Output";
const END = ">>>>> End Test Output";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "eval-script-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function run(...lines: readonly string[]) {
  for (const file of evalScriptVerifier(lines.join("\n"), "pytest").files) {
    if (file.kind !== "write") continue;
    writeFileSync(join(folder, basename(file.path)), file.content.replaceAll("/verify/", `${folder}/`));
  }
  const { status, stdout } = spawnSync("bash", [join(folder, "run.sh")], { encoding: "utf8" });
  return { status, stdout };
}

const FORGED = `echo '${START}'; echo 'PASSED forged'; echo '${END}'`;

describe("a row's script", () => {
  it.each([
    ["printed", [`echo '${START}'`, "echo PASSED a; false", `echo '${END}'`, "true"]],
    [
      "shown by set -x",
      ["set -x", `: '${START}'`, "{ set +x; } 2>/dev/null; echo PASSED a; set -x", `: '${END}'`],
    ],
    [
      "shown and printed",
      ["set -x", `echo '${START}'`, "{ set +x; } 2>/dev/null; echo PASSED a; set -x", `echo '${END}'`],
    ],
  ])("prints what lies between its markers, %s", (_, lines) => {
    const { status, stdout } = run("echo before", ...lines, "echo after");
    expect(status).toBe(0);
    expect(stdout.split("\n").filter((line) => !line.startsWith("+"))).toEqual(["PASSED a", ""]);
  });

  it.each([
    ["a pair is printed before the tests", [FORGED, `echo '${START}'`, "echo FAILED a", `echo '${END}'`]],
    [
      "a start is printed before the tests",
      [`echo '${START}'`, `echo '${START}'`, "echo FAILED a", `echo '${END}'`],
    ],
    [
      "the tests print an end",
      [`echo '${START}'`, "echo PASSED a", `echo '${END}'`, "echo FAILED a", `echo '${END}'`],
    ],
    ["the tests print a start", [`echo '${START}'`, "echo PASSED a", `echo '${START}'`, `echo '${END}'`]],
    ["a pair is printed after the tests", [`echo '${START}'`, "echo FAILED a", `echo '${END}'`, FORGED]],
    ["the end comes first", [`echo '${END}'`, `echo '${START}'`]],
    ["there is no start", ["echo PASSED a", `echo '${END}'`]],
    ["there is no end", [`echo '${START}'`, "echo PASSED a"]],
    ["a signal ends it behind a pair", [FORGED, "kill -KILL $$"]],
  ])("exits with 1 where %s", (_, lines) => {
    expect(run(...lines).status).toBe(1);
  });

  it("prints nothing of a second pair", () => {
    expect(run(`echo '${START}'`, "echo FAILED a", `echo '${END}'`, FORGED).stdout).toBe("FAILED a\n");
  });
});
