/** When a canary accuses a tree, and when it must not: by runs that say what each tree would. */
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import type { FileChange, TestStatus } from "../../core/task.ts";
import { Canaries } from "../../services/grading/canaries.ts";
import type { GradingService, TestRunRequest } from "../../services/grading/index.ts";
import { SandboxError } from "../../services/sandbox/index.ts";

const request = {
  environment: {
    ...{ key: "e@1-0", root: tmpdir() },
    entry: { sources: ["a.js"], tests: ["test"], framework: "mocha" },
    commands: [{ scope: "", argv: ["mocha", "test"], format: "mocha", reportFile: null }],
  },
  overlay: [{ kind: "write", path: "a.js", content: "", encoding: "utf8" }],
} as unknown as TestRunRequest;

type Answer = readonly TestStatus[] | "timeout" | "memory";
const TRUE: Answer = Array(5).fill("failed");
const FALSE: Answer = Array(5).fill("passed");
const SILENT: Answer = ["failed"];

/** Each tree answers in turn, the last again and again. */
function canaries(answers: Readonly<Record<"agent" | "untouched", readonly Answer[]>>) {
  const ran: string[] = [];
  const asked = { agent: 0, untouched: 0 };
  const runTests = async ({ overlay }: TestRunRequest) => {
    const [file] = overlay.slice(-1) as [FileChange & { kind: "write" }];
    const who = file.path.startsWith("cuntouched/") ? "untouched" : "agent";
    ran.push(`${who}${file.content.includes("process.exit = ") ? " without exits" : ""}`);
    const answer = answers[who][Math.min(asked[who]++, answers[who].length - 1)]!;
    if (answer === "memory") throw new SandboxError("lost", "killed", { outOfMemory: true });
    const ended = answer !== "timeout";
    const statuses = Object.fromEntries(ended ? answer.map((one, index) => [`t${index}`, one]) : []);
    return {
      report: { statuses, complete: ended },
      ended,
      contradictions: [],
      cpuSeconds: 1,
      wallSeconds: 2,
    };
  };
  const checks = new Canaries(runTests as unknown as GradingService["runTests"]);
  return { check: () => checks.check(request, "cold", "secret"), ran };
}

const TAMPERED = { decision: { outcome: "failed", rule: "harness-tampered" } };

describe("Canaries", () => {
  it("accuse a tree that reports something false as passed, and ask the untouched tree once", async () => {
    const { check, ran } = canaries({ agent: [FALSE, TRUE], untouched: [TRUE] });
    expect(await check()).toMatchObject(TAMPERED);
    expect(await check()).toEqual({ cpuSeconds: 1, wallSeconds: 2 });
    expect(ran).toEqual(["untouched", "agent", "agent"]);
  });

  it.each<[string, Answer]>([
    ["reports nothing of it", SILENT],
    ["meets a limit", "timeout"],
    ["takes all memory", "memory"],
  ])("do not accuse a tree that %s, and say that there is none", async (_, answer) => {
    const { check, ran } = canaries({ agent: [answer], untouched: [TRUE] });
    const found = await check();
    expect(found.decision).toBeUndefined();
    expect(found.none).toMatch(/was not reported/);
    expect(ran).toEqual(["untouched", "agent", "agent without exits"]);
  });

  it("find a lie behind a source that ends the process", async () => {
    const { check } = canaries({ agent: [SILENT, FALSE], untouched: [TRUE] });
    expect(await check()).toMatchObject(TAMPERED);
  });

  it("are of no kind that the untouched tree does not fail", async () => {
    const { check, ran } = canaries({ agent: [FALSE], untouched: [FALSE] });
    expect(await check()).toMatchObject({ none: "the untouched tree does not fail it", cpuSeconds: 0 });
    await check();
    expect(ran).toEqual(["untouched", "untouched without exits"]);
    const program = canaries({ agent: [FALSE], untouched: [SILENT, TRUE] });
    expect(await program.check()).toMatchObject(TAMPERED);
    expect(program.ran.slice(2)).toEqual(["agent without exits"]);
  });

  it("ask the untouched tree again where a limit ended it, and keep no such answer", async () => {
    const once = canaries({ agent: [FALSE], untouched: ["timeout", TRUE] });
    expect(await once.check()).toMatchObject(TAMPERED);
    const busy = canaries({ agent: [FALSE], untouched: [...Array<Answer>(4).fill("timeout"), TRUE] });
    expect((await busy.check()).none).toMatch(/met a limit, twice/);
    expect(await busy.check()).toMatchObject(TAMPERED);
  });
});
