import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCommandCache, parseArguments, runTool } from "../../services/harness/index.ts";
import { createProcessRuntime, type Sandbox } from "../../services/sandbox/index.ts";
import { bash, rolloutOf, sayCall } from "../unit/harness-policy.ts";
import { caseFiles, type ToolCase, toolCases } from "../unit/harness-vectors.ts";

let folder: string;
let runtime: ReturnType<typeof createProcessRuntime>;
let made = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leaf-"));
  runtime = createProcessRuntime({ root: join(folder, "sandboxes"), nodePath: process.execPath });
  for (const name of new Set(toolCases.map((one) => one.files)))
    for (const [path, bytes] of Object.entries(caseFiles(name))) {
      await mkdir(dirname(join(folder, name, path)), { recursive: true });
      await writeFile(join(folder, name, path), bytes);
    }
  expect(await runtime.unavailable()).toBeNull();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function open(files: string): Promise<Sandbox> {
  return runtime.create(
    {
      root: join(folder, files),
      overlay: [],
      mounts: [],
      limits: { memoryMb: 512, processes: 64, diskMb: 64 },
      env: {},
    },
    { experiment: "test", slot: `harness/${made++}`, attempt: 1, fence: "f", deadline: Date.now() + 600_000 },
  );
}

async function withSandbox<T>(files: string, action: (sandbox: Sandbox) => Promise<T>): Promise<T> {
  const sandbox = await open(files);
  try {
    return await action(sandbox);
  } finally {
    await sandbox.destroy();
  }
}

describe("recorded calls of the reference tools, in the real sandbox", () => {
  it("are all there", () => expect(toolCases).toHaveLength(79));

  const name = (one: ToolCase) => `${one.id} ${one.tool} ${JSON.stringify(one.arguments).slice(0, 60)}`;
  it.each(toolCases.map((one) => [name(one), one] as const))("%s", (_, one) =>
    withSandbox(one.files, async (sandbox) => {
      expect(await runTool(sandbox, one.tool, one.arguments)).toBe(one.result);
      const after = (await sandbox.changes()).map((change) => {
        if (change.kind !== "write") throw new Error(`${change.path}: ${change.kind}`);
        return [change.path, Buffer.from(change.content, change.encoding).toString("base64")];
      });
      expect(Object.fromEntries(after)).toEqual(one.changed);
    }),
  );
});

describe("what the model is told", () => {
  it.each([
    [
      "Read",
      { file_path: "none.js" },
      "FileNotFoundError: [Errno 2] No such file or directory: '/repo/none.js'",
    ],
    ["Read", { file_path: "src" }, "IsADirectoryError: [Errno 21] Is a directory: '/repo/src'"],
    [
      "Read",
      { file_path: "src/a.js/x" },
      "NotADirectoryError: [Errno 20] Not a directory: '/repo/src/a.js/x'",
    ],
    ["Read", { file_path: "/dev/zero" }, "OSError: [Errno 22] Invalid argument: '/dev/zero'"],
    ["Read", { file_path: "/repo/src/b.js", limit: 1 }, 'src/b.js\n1. import { a } from "./a.js";'],
    ["Write", { file_path: "/etc/x", content: "" }, "OSError: [Errno 30] Read-only file system: '/etc/x'"],
    ["Glob", { pattern: "/repo/test/*" }, "test/a.test.js"],
  ])("%s %j: %s", (tool, args, expected) =>
    withSandbox("small", async (sandbox) => {
      expect(await runTool(sandbox, tool, args)).toBe(expected);
    }),
  );

  it("names no path and no process of the host, whatever is asked", () =>
    withSandbox("small", async (sandbox) => {
      const probes: [string, string][] = [
        [
          "Bash",
          JSON.stringify({ command: "pwd; ls -a / /tmp; env; cat /proc/self/mountinfo | wc -l; echo $$" }),
        ],
        ["Bash", JSON.stringify({ command: "ln -s /nowhere l; ln -s l2 l2; ls; cat l l2" })],
        ["Read", '{"file_path":"l"}'],
        ["Read", '{"file_path":"l2"}'],
        ["Read", '{"file_path":"../../etc/passwd"}'],
        ["Write", JSON.stringify({ file_path: "x".repeat(300), content: "" })],
        ["Glob", '{"pattern":"/tmp/**"}'],
      ];
      for (const [tool, args] of probes) {
        const result = await runTool(sandbox, tool, parseArguments(args));
        expect(result).not.toContain(folder);
        expect(result).not.toContain(process.cwd());
      }
    }));

  it("does not read a file of more bytes than memory has", () =>
    withSandbox("small", async (sandbox) => {
      await runTool(sandbox, "Bash", { command: "truncate -s 33M sparse" });
      expect(await runTool(sandbox, "Read", { file_path: "sparse" })).toMatch(/^MemoryError: /);
    }));

  it("is the same for the same calls in two sandboxes", async () => {
    const script = [
      "ls -la --time-style=+ | grep -v total",
      "echo $RANDOM > /dev/null; node -p 6*7",
      "id -u; hostname",
    ];
    const said = () =>
      withSandbox("small", async (sandbox) => {
        const results: string[] = [];
        for (const command of script) results.push(await runTool(sandbox, "Bash", { command }));
        return results;
      });
    expect(await said()).toEqual(await said());
  });
});

describe("a rollout in the real sandbox", () => {
  const script = [
    sayCall("Glob", { pattern: "**/*.js" }),
    bash("cat src/a.js"),
    sayCall("Edit", { file_path: "src/a.js", old_string: "a = 1", new_string: "a = 2" }),
    bash("cat src/a.js"),
    bash("echo kept > /tmp/f"),
    bash("cat /tmp/f"),
    "done",
  ];

  it("ends with the same trajectory and tree with command re-use and without", async () => {
    const cache = createCommandCache();
    const run = (commandCache?: ReturnType<typeof createCommandCache>) =>
      withSandbox("small", async (sandbox) => {
        const { trajectory } = await rolloutOf(script, sandbox, commandCache ? { commandCache } : {});
        return { trajectory, tree: await sandbox.treeHash() };
      });
    const plain = await run();
    expect(plain.trajectory.exit).toBe("agent");
    expect(plain.trajectory.turns[5]!.results[0]).toBe("Exit code: 0\nSTDOUT:\nkept\n\nSTDERR:\n");
    expect(await run(cache)).toEqual(plain);
    expect(await run(cache)).toEqual(plain);
  });

  it("ends a command that never ends by its CPU time, says so the same way each time, and need not run it again", async () => {
    const cache = createCommandCache();
    const forever = bash("node -e 'console.log(1); for (;;);'");
    const run = (commandCache?: ReturnType<typeof createCommandCache>) =>
      withSandbox("small", async (sandbox) => {
        const more = { commandCpuSeconds: 1, ...(commandCache ? { commandCache } : {}) };
        const { trajectory, toolSeconds } = await rolloutOf([forever, forever, "done"], sandbox, more);
        return { results: trajectory.turns.flatMap((turn) => turn.results), toolSeconds };
      });
    const text = "Exit code: -24\nSTDOUT:\n1\n\nSTDERR:\n";
    expect((await run()).results).toEqual([text, text]);
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    const asked: unknown[] = [];
    const watched = {
      get: (tree: string, key: string) => {
        asked.push(tree);
        return cache.get(tree, key);
      },
      set: cache.set,
    };
    expect((await run(watched)).results).toEqual([text, text]);
    expect(asked).toEqual([hash, hash]);
    expect(cache.get(asked[0] as string, "120\0node -e 'console.log(1); for (;;);'")).toBe(text);
  });

  it("throws when the sandbox is destroyed under it: no sample", () =>
    withSandbox("small", async (sandbox) => {
      const running = rolloutOf([bash("sleep 20"), "done"], sandbox, {
        onTurn: () => void setTimeout(() => void sandbox.destroy(), 200),
      });
      await expect(running).rejects.toMatchObject({ name: "SandboxError" });
    }));

  it("ends as cancelled when it is cancelled while a command runs", () =>
    withSandbox("small", async (sandbox) => {
      const abort = new AbortController();
      const { trajectory } = await rolloutOf([bash("sleep 20"), "done"], sandbox, {
        signal: abort.signal,
        onTurn: () => void setTimeout(() => abort.abort(), 200),
      });
      expect(trajectory.exit).toBe("cancelled");
    }));
});
