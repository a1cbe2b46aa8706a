/** When a verifier whose tests were made to fail accuses a tree, and when it must not: by runs that say what each tree would. */
import { describe, expect, it } from "vitest";
import type { StatusMap, Task } from "../../core/task.ts";
import type { GradingService, TestRunRequest } from "../../services/grading/index.ts";
import { VerifierCanaries } from "../../services/grading/verifier-canaries.ts";

const write = (path: string, content: string) =>
  ({ kind: "write", path, content, encoding: "utf8" }) as const;
const verifier = {
  files: [write("test_a.py", "def test_a():\n    pass\n")],
  ...{ commands: [], exact: null, timeoutSeconds: 1 },
};
const reference = [write("a.py", "solved")];
const task = {
  ...{ base: [], gold: reference, failToPass: ["a"], passToPass: ["b"], verifier },
} as unknown as Task;
const request = {
  environment: { key: "e@1-0", root: "/e" },
  ...{ overlay: [write("a.py", "the agent's")], verifier },
} as unknown as TestRunRequest;

type Answer = StatusMap | "timeout";
/** `reference` answers in turn, the last again and again. */
function canaries(answers: { readonly agent: Answer; readonly reference: readonly Answer[] }) {
  const left = [...answers.reference];
  const ran: string[] = [];
  const runTests = async ({ overlay }: TestRunRequest) => {
    const isReference = overlay === reference;
    ran.push(isReference ? "reference" : "agent");
    const answer = isReference ? (left.length > 1 ? left.shift()! : left[0]!) : answers.agent;
    const ended = answer !== "timeout";
    const report = { statuses: ended ? answer : {}, complete: ended };
    return { report, ended, contradictions: [], cpuSeconds: 1, wallSeconds: 2 };
  };
  return { checks: new VerifierCanaries(runTests as unknown as GradingService["runTests"]), ran };
}

const none = (why: string) => ({ none: why, cpuSeconds: 0, wallSeconds: 0 });
const FAILS = { a: "failed", b: "failed" } as const;
const PASSES = { a: "passed", b: "passed" } as const;

describe("VerifierCanaries", () => {
  it("believes a tree that fails as the reference does, and runs the reference once", async () => {
    const { checks, ran } = canaries({ agent: FAILS, reference: [FAILS] });
    expect(await checks.check(request, task, reference)).toEqual({ cpuSeconds: 1, wallSeconds: 2 });
    await checks.check(request, task, reference);
    expect(ran).toEqual(["reference", "agent", "agent"]);
  });

  it("accuses a tree whose judged test passes, once the reference failed it again", async () => {
    const { checks, ran } = canaries({ agent: { ...PASSES, b: "failed" }, reference: [FAILS] });
    expect(await checks.check(request, task, reference)).toMatchObject({
      decision: { outcome: "failed", rule: "harness-tampered", offending: ["a"] },
    });
    expect(ran).toEqual(["reference", "agent", "reference"]);
  });

  it("accuses nobody where the reference passes: at once, or when it is asked again", async () => {
    const elsewhere = canaries({ agent: PASSES, reference: [PASSES] });
    expect(await elsewhere.checks.check(request, task, reference)).toEqual(
      none("the reference solution does not fail it"),
    );
    expect(elsewhere.ran).toEqual(["reference"]);
    const byChance = canaries({ agent: PASSES, reference: [FAILS, PASSES] });
    expect(await byChance.checks.check(request, task, reference)).toEqual({
      ...none("the reference solution does not fail it"),
      ...{ cpuSeconds: 1, wallSeconds: 2 },
    });
  });

  it("accuses no tree that meets a limit there", async () => {
    const slow = canaries({ agent: "timeout", reference: [FAILS] });
    const found = await slow.checks.check(request, task, reference);
    expect(found.decision).toBeUndefined();
    expect(found.none).toMatch(/did not end/);
  });

  it("asks the reference again where a limit ended it, and keeps no such answer", async () => {
    const once = canaries({ agent: PASSES, reference: ["timeout", FAILS] });
    expect(await once.checks.check(request, task, reference)).toHaveProperty(
      "decision.rule",
      "harness-tampered",
    );
    const busy = canaries({ agent: PASSES, reference: ["timeout", "timeout", FAILS] });
    expect((await busy.checks.check(request, task, reference)).none).toMatch(/met a limit, twice/);
    expect(await busy.checks.check(request, task, reference)).toHaveProperty(
      "decision.rule",
      "harness-tampered",
    );
  });

  it("needs a Python test among the verifier's files and a reference solution", async () => {
    const { checks, ran } = canaries({ agent: PASSES, reference: [FAILS] });
    const bare = { ...request, verifier: { ...verifier, files: [] } };
    expect(await checks.check(bare, task, reference)).toEqual(none("there is none for these tests"));
    expect(await checks.check(request, { ...task, gold: [] }, reference)).toEqual(
      none("there is none for these tests"),
    );
    expect(ran).toEqual([]);
  });
});
