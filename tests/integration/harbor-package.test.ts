/** What is exported is what Harbor's own package takes, and what that package makes is what is imported. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "smol-toml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chosenArtifacts } from "../../services/formats/harbor/artifacts.ts";
import { readConfig } from "../../services/formats/harbor/config.ts";
import { harborFolder } from "../../services/formats/harbor/export.ts";
import { readHarborTask } from "../../services/formats/harbor/import.ts";
import { atifTrajectory, type ImportError, writeFiles } from "../../services/formats/index.ts";
import { TOOL_DEFINITIONS } from "../../services/harness/index.ts";
import { harborPackage, installHarbor, runHarbor } from "../support/harbor.ts";
import { tinyEnvironment, tinyStatement, tinyTask } from "../support/tiny-environment.ts";

const { whole } = harborPackage();
let folder: string;
beforeAll(() => {
  installHarbor();
  folder = mkdtempSync(join(tmpdir(), "harbor-package-"));
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Prints `ok` and what was read, or the class of the refusal, a line for each folder. */
const READ_TASKS = `
import json, sys, warnings
from harbor.models.task.task import Task
from harbor.models.task.verifier_mode import resolve_task_verifier_mode
warnings.simplefilter("ignore")
for path in sys.argv[1:]:
    try:
        task = Task(path)
        config = task.config
        print(json.dumps({
            "name": task.name, "instruction": task.instruction, "memory": config.environment.memory_mb,
            "mode": resolve_task_verifier_mode(config).value, "network": config.environment.network_mode.value,
            "timeout": config.verifier.timeout_sec, "collect": [hook.command for hook in config.verifier.collect],
            "valid": Task.is_valid_dir(path)}))
    except Exception as error:
        print(json.dumps({"refused": type(error).__name__}))
`;

/** Prints the sources that are collected of each list, in order: Harbor's handler without a box to collect from. */
const CHOOSE = `
import json, logging, pathlib, sys
from harbor.models.trial.config import ArtifactConfig
from harbor.trial.artifact_handler import ArtifactHandler
for text in sys.argv[1:]:
    entries = [ArtifactConfig(source=e) if isinstance(e, str) else ArtifactConfig(**e) for e in json.loads(text)]
    handler = ArtifactHandler(artifacts=entries, logger=logging.getLogger())
    collected = []
    for artifact in handler._normalized_artifacts(None, "/logs/artifacts"):
        target = handler._host_path(pathlib.Path("/x"), artifact, "/logs/artifacts")
        if handler._find_conflicting_claim(target, artifact) is None:
            handler._claimed_targets.append((target, artifact))
            collected.append(artifact.source)
    print(json.dumps(collected))
`;

const READ_TRAJECTORY = `
import json, pathlib, sys
from harbor.models.trajectories import Trajectory
read = Trajectory.model_validate_json(pathlib.Path(sys.argv[1]).read_text())
print(json.dumps(read.to_json_dict()))
`;

describe("Harbor's package", () => {
  it("takes an exported task", async () => {
    const exported = join(folder, "exported");
    const environment = tinyEnvironment(join(folder, "environment"));
    const about = { task: tinyTask, statement: tinyStatement, environment };
    await writeFiles(exported, await harborFolder({ ...about, image: "node:24", network: "no-network" }));
    const [line] = runHarbor(READ_TASKS, [exported]);
    expect(JSON.parse(line!)).toMatchObject({
      name: `tadpole/${tinyTask.id}`,
      instruction: tinyStatement.text,
      mode: "separate",
      network: "no-network",
      valid: true,
    });
  });

  it("takes an exported trajectory without losing a field", () => {
    const file = join(folder, "trajectory.json");
    const atif = atifTrajectory(
      {
        segments: [
          { tokens: [1, 2, 3, 4, 5], trainable: [0, 0, 1, 0, 1], logProbs: [0, 0, -0.5, 0, -0.25] },
          { tokens: [9, 8], trainable: [0, 1], logProbs: [0, -1] },
        ],
        turns: [
          {
            turn: 0,
            promptTokens: 2,
            completionTokens: 1,
            toolCalls: [
              { id: "a", name: "Bash", arguments: '{"command":"ls"}' },
              { id: "b", name: "Nonsense", arguments: "{" },
            ],
            results: ["index.js", "no such tool"],
            treeHash: null,
          },
          { turn: 1, promptTokens: 4, completionTokens: 1, toolCalls: [], results: [], treeHash: null },
          { turn: 2, promptTokens: 1, completionTokens: 1, toolCalls: [], results: [], treeHash: null },
        ],
        messages: [
          { role: "system", content: "s" },
          { role: "user", content: "u" },
          { role: "assistant", content: null },
          { role: "tool", toolCallId: "a", content: "index.js" },
          { role: "assistant", content: "more" },
          { role: "assistant", content: "done" },
        ],
        weightVersion: "nano-1",
        exit: "agent",
        generatedTokens: 3,
      },
      {
        key: "e/probe/0",
        experiment: "e",
        iteration: 1,
        try: 1,
        phase: "probe",
        group: "e/probe",
        member: 0,
        taskId: tinyTask.id,
        level: 1,
        policy: "nano-1",
        sampling: { temperature: 1, topP: 0.5, topK: 3, minP: 0 },
        truncated: false,
        outcome: "failed",
        rule: "fail-to-pass-failed",
        rawReward: 0,
        reward: 0,
        treeHash: "00",
      },
      { name: "leaf", version: "1", tools: TOOL_DEFINITIONS },
    );
    writeFileSync(file, JSON.stringify(atif));
    const [line] = runHarbor(READ_TRAJECTORY, [file]);
    expect(JSON.parse(line!)).toEqual(withoutNulls(JSON.parse(readFileSync(file, "utf8"))));
  });

  it.runIf(whole)("makes tasks that are imported, with a verifier of either kind", async () => {
    const made = async (name: string, ...args: readonly string[]) => {
      const program = "import sys; from harbor.cli.main import app; app(sys.argv[1:])";
      runHarbor(program, ["init", "--task", `org/${name}`, "--output-dir", folder, ...args]);
      writeFileSync(join(folder, name, "instruction.md"), "Do it.\n");
      return readHarborTask(join(folder, name));
    };
    const shared = await made("shared", "--verifier-mode", "shared");
    expect(shared).toMatchObject({
      origin: { id: "org/shared" },
      gold: { kind: "script" },
      environment: { image: { kind: "build" } },
      verifier: { timeoutSeconds: 600 },
    });
    expect(shared.verifierBox).toBeUndefined();
    const separate = await made("separate");
    expect(separate.verifier.files).toEqual([]);
    expect(separate.verifierBox).toMatchObject({
      image: { kind: "build" },
      artifacts: [{ source: "/logs/artifacts" }],
    });
  });

  it.runIf(whole)("copies the artifacts that are copied here", () => {
    const lists: (string | { source: string; destination?: string; exclude?: string[] })[][] = [
      [],
      ["/a", "/b/c"],
      ["/a", "/a/b", "/ab", "/logs/artifacts/x"],
      [{ source: "/logs/artifacts", exclude: ["*.log"] }, "/logs"],
      ["/a/b", { source: "/a/b/c", exclude: ["x"] }, "/a"],
      ["/a", { source: "/a/b", destination: "c" }, { source: "/d", destination: "c/e" }],
      [{ source: "/z", destination: "a/b" }, "/a", "/a/b"],
    ];
    const theirs = runHarbor(
      CHOOSE,
      lists.map((list) => JSON.stringify(list)),
    ).map((line) => JSON.parse(line));
    const ours = lists.map((list) => {
      const { artifacts } = readConfig(stringify({ artifacts: list }), "task.toml");
      return chosenArtifacts(artifacts, "task.toml").artifacts.map(({ source }) => source);
    });
    expect(ours).toEqual(theirs);
  });

  it("reads a task.toml as it is read here", async () => {
    const texts = [
      'version = "1.0"\n[environment]\nmemory = "2G"\nallow_internet = false\n',
      'schema_version = "1.2"\n[verifier]\ntimeout_sec = 12.5\n[environment]\nmemory_mb = 256\n',
      '[verifier.environment]\nmemory_mb = 1\n[[verifier.collect]]\ncommand = "x"\n',
      'artifacts = ["/a/../b"]\n',
      '[environment]\nmemory = "2G"\nmemory_mb = 1\n',
      '[environment]\nnetwork_mode = "host"\n',
      '[environment]\nallowed_hosts = ["a.org"]\n',
      '[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\n',
      '[task]\nname = "alone"\n',
      '[environment]\nmemory = "much"\n',
    ];
    const folders = texts.map((text, i) => {
      const path = join(folder, `spelling-${i}`);
      cpSync(join(folder, "exported"), path, { recursive: true });
      writeFileSync(join(path, "task.toml"), text);
      return path;
    });
    const theirs = runHarbor(READ_TASKS, folders).map((line) => JSON.parse(line));
    const ours = texts.map((text) => {
      try {
        const { environment, verifier } = readConfig(text, "task.toml");
        return {
          memory: environment.memoryMb,
          mode: verifier.mode,
          network: environment.network === "none" ? "no-network" : environment.network,
          timeout: verifier.timeoutSeconds,
          collect: verifier.collect.map(({ command }) => command),
        };
      } catch (error) {
        return { refused: (error as ImportError).kind };
      }
    });
    for (const [i, their] of theirs.entries())
      expect(ours[i], texts[i]).toEqual(
        "refused" in their
          ? { refused: "field" }
          : {
              memory: their.memory,
              mode: their.mode,
              network: their.network,
              timeout: their.timeout,
              collect: their.collect,
            },
      );
  });
});

/** Harbor leaves fields out that are null. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([key, item]) => [key, withoutNulls(item)]),
  );
}
