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
    expect(await elsewhere.checks.check(request, task, reference)).toBeUndefined();
    expect(elsewhere.ran).toEqual(["reference"]);
    const byChance = canaries({ agent: PASSES, reference: [FAILS, PASSES] });
    expect(await byChance.checks.check(request, task, reference)).toBeUndefined();
  });

  it("fails a tree that meets a limit only there, and proves nothing by a reference that does", async () => {
    const slow = canaries({ agent: "timeout", reference: [FAILS] });
    expect(await slow.checks.check(request, task, reference)).toMatchObject({
      decision: { outcome: "failed", rule: "timeout" },
    });
    const both = canaries({ agent: "timeout", reference: ["timeout"] });
    expect(await both.checks.check(request, task, reference)).toBeUndefined();
  });

  it("needs a Python test among the verifier's files and a reference solution", async () => {
    const { checks, ran } = canaries({ agent: PASSES, reference: [FAILS] });
    const bare = { ...request, verifier: { ...verifier, files: [] } };
    expect(await checks.check(bare, task, reference)).toBeUndefined();
    expect(await checks.check(request, { ...task, gold: [] }, reference)).toBeUndefined();
    expect(ran).toEqual([]);
  });
});
