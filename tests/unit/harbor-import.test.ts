/** Harbor task folders: every spelling of task.toml, and each mistake as one error that names file and field. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { stringify } from "smol-toml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chosenArtifacts } from "../../services/formats/harbor/artifacts.ts";
import { readConfig, SCHEMA_VERSIONS } from "../../services/formats/harbor/config.ts";
import { withoutIgnored } from "../../services/formats/harbor/dockerignore.ts";
import { resolveEnv } from "../../services/formats/harbor/env.ts";
import { harborImporter, readHarborTask, withoutCanary } from "../../services/formats/harbor/import.ts";
import type { ImportError, RowResult } from "../../services/formats/types.ts";
import { hashJson } from "../../services/hashing/index.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "harbor-import-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MINIMAL = {
  "instruction.md": "Make it so.\n",
  "task.toml": 'version = "1.0"\n',
  "environment/Dockerfile": "FROM scratch\n",
  "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
};

let made = 0;
/** A task folder of its own; null leaves a file of the minimal one out. */
function task(files: Readonly<Record<string, string | Uint8Array | null>> = {}): string {
  const root = join(folder, `task-${++made}`);
  for (const [path, content] of Object.entries({ ...MINIMAL, ...files })) {
    if (content === null) continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

const toml = (text: string) => readConfig(text, "task.toml");

function refusal(read: () => unknown): Pick<ImportError, "kind" | "field" | "expected" | "found"> {
  try {
    read();
  } catch (error) {
    const { kind, field, expected, found } = error as ImportError;
    return { kind, field, expected, found };
  }
  throw new Error("nothing was refused");
}

async function results(path: string, limit?: number): Promise<RowResult[]> {
  const found: RowResult[] = [];
  for await (const result of harborImporter.read(path, limit === undefined ? {} : { limit }))
    found.push(result);
  return found;
}

describe("task.toml", () => {
  it("says the same in its old and its new spelling", () => {
    const old = toml(
      'version = "1.0"\n[environment]\nmemory = "4G"\nstorage = "512M"\nallow_internet = false\n',
    );
    const current = toml(
      'schema_version = "1.4"\n[environment]\nmemory_mb = 4096\nstorage_mb = 512\nnetwork_mode = "no-network"\n',
    );
    expect(old.environment).toEqual(current.environment);
    expect(current.environment).toMatchObject({ memoryMb: 4096, storageMb: 512, network: "none" });
  });

  it.each(SCHEMA_VERSIONS)("reads schema version %s under both names", (version) => {
    expect(toml(`version = "${version}"`).schemaVersion).toBe(version);
    expect(toml(`schema_version = "${version}"`).schemaVersion).toBe(version);
  });

  it("reads sizes in every unit as whole megabytes", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4096 }), (megabytes) => {
        const sizes = [`${megabytes}M`, `${megabytes * 1024}k`, `${megabytes / 1024}G`];
        for (const memory of sizes)
          expect(toml(stringify({ environment: { memory } })).environment.memoryMb).toBe(megabytes);
      }),
    );
  });

  it("lets the agent's network decide over the environment's", () => {
    const { environment } = toml(
      '[environment]\nnetwork_mode = "public"\n[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["example.com"]\n',
    );
    expect(environment.network).toEqual({ hosts: ["example.com"] });
  });

  it("takes a verifier's environment as a separate verifier", () => {
    expect(toml("[verifier.environment]\nmemory_mb = 1024\n").verifier.mode).toBe("separate");
    expect(toml("").verifier.mode).toBe("shared");
  });

  it("names fields that no version knows", () => {
    expect(toml("[environment]\nmemory_gb = 4\n[agents]\n").unknown).toEqual([
      "agents",
      "environment.memory_gb",
    ]);
  });

  it.each([
    ['schema_version = "2.0"', "field", "schema_version"],
    ["schema_version = 1.4", "field", "schema_version"],
    ['[environment]\nmemory = "4 GB"', "field", "environment.memory"],
    ['[environment]\nmemory = "4G"\nmemory_mb = 1', "field", "environment.memory"],
    ["[environment]\nmemory_mb = 1.5", "field", "environment.memory_mb"],
    ["[environment]\ncpus = 0", "field", "environment.cpus"],
    ['[environment]\nworkdir = "app"', "field", "environment.workdir"],
    ['[environment]\nallowed_hosts = ["a.org"]', "field", "environment.allowed_hosts"],
    ['[environment]\nnetwork_mode = "host"', "field", "environment.network_mode"],
    ["[environment.env]\nA = 1", "field", "environment.env.A"],
    ['[environment.env]\n"A B" = "1"', "field", "environment.env.A B"],
    ["environment = 3", "field", "environment"],
    ["[verifier]\ntimeout_sec = inf", "field", "verifier.timeout_sec"],
    ['[verifier]\nenvironment_mode = "shared"\n[verifier.environment]', "field", "verifier.environment_mode"],
    ["[[verifier.collect]]", "field", "verifier.collect[0].command"],
    ['artifacts = ["/a", "/b/../../etc"]', "field", "artifacts[1].source"],
    ['artifacts = [{ source = "/a", destination = "../b" }]', "field", "artifacts[0].destination"],
    ['artifacts = [{ source = "/a", destination = "/b" }]', "field", "artifacts[0].destination"],
    ['artifacts = [{ source = "/a", exclude = "x" }]', "field", "artifacts[0].exclude"],
    ["artifacts = [3]", "field", "artifacts[0]"],
    ['[task]\nname = "no-organisation"', "field", "task.name"],
    ['[[steps]]\nname = "first"', "unsupported", "steps"],
    ['[environment]\nos = "Windows"', "unsupported", "environment.os"],
    ["[environment]\ngpus = 1", "unsupported", "environment.gpus"],
    ['[[environment.mcp_servers]]\nname = "x"', "unsupported", "environment.mcp_servers"],
    ["[verifier.environment]\ngpus = 1", "unsupported", "verifier.environment.gpus"],
    ['artifacts = [{ source = "/a", service = "db" }]', "unsupported", "artifacts[0].service"],
  ])("refuses %j by naming the field", (text, kind, field) => {
    expect(refusal(() => toml(text))).toMatchObject({ kind, field });
  });

  it("names the line of what is no TOML", () => {
    expect(() => toml('version = "1.0"\nmemory =\n')).toThrow(/^task\.toml, line 2: expected TOML, found /);
  });

  it("reads or refuses any table, and never fails otherwise", () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constantFrom("public", "separate", "4G", "1.4"),
      fc.array(fc.string(), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom("env", "source", "command", "docker_image"), fc.string(), { maxKeys: 2 }),
    );
    const section = fc.dictionary(
      fc.constantFrom("env", "memory", "timeout_sec", "collect", "environment", "os", "user", "network_mode"),
      value,
    );
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom("version", "task", "verifier", "agent", "environment", "steps", "artifacts"),
          fc.oneof(value, section),
        ),
        (table) => {
          try {
            toml(stringify(table));
          } catch (error) {
            expect((error as ImportError).name).toBe("ImportError");
            expect((error as ImportError).field).not.toBe("");
          }
        },
      ),
    );
  });
});

describe("variables", () => {
  const template = (text: string) => `$\{${text}}`;
  it("never takes a host's value", () => {
    const { env, notes } = resolveEnv(
      { A: "1", B: template("HOME"), C: template("HOME:-none"), D: `x${template("HOME")}` },
      "environment.env",
    );
    expect(env).toEqual({ A: "1", C: "none", D: `x${template("HOME")}` });
    expect(notes).toHaveLength(2);
    expect(notes.join()).not.toContain(process.env.HOME ?? "?");
  });
});

describe("a task's folder", () => {
  it("becomes the common form", async () => {
    const root = task({
      "task.toml": stringify({
        schema_version: "1.3",
        task: { name: "org/name" },
        environment: { memory_mb: 512, env: { MODE: "test" }, workdir: "/app" },
        verifier: { timeout_sec: 30, env: { SEED: "7" }, collect: [{ command: "save" }] },
        agent: { timeout_sec: 90 },
        solution: { env: { X: "y" } },
      }),
      "solution/solve.sh": "touch solved\n",
      "tests/data.bin": new Uint8Array([0xff, 0]),
    });
    chmodSync(join(root, "tests/test.sh"), 0o755);
    const found = await readHarborTask(root);
    expect(found).toMatchObject({
      origin: { format: "harbor", id: "org/name", file: join(root, "task.toml") },
      statement: { text: "Make it so.\n" },
      environment: {
        image: { kind: "build", dockerfile: "Dockerfile" },
        workdir: "/app",
        env: { MODE: "test" },
        limits: { memoryMb: 512 },
        network: "public",
      },
      gold: { kind: "script", argv: ["bash", "/solution/solve.sh"], env: { X: "y" }, timeoutSeconds: 90 },
      failToPass: ["reward"],
      passToPass: [],
      verifier: { timeoutSeconds: 30, commands: [{ format: "reward", reportFile: null }] },
    });
    expect(found.verifier.files).toEqual([
      { kind: "write", path: "/tests/data.bin", content: "/wA=", encoding: "base64" },
      {
        kind: "write",
        path: "/tests/test.sh",
        content: MINIMAL["tests/test.sh"],
        encoding: "utf8",
        executable: true,
      },
    ]);
    expect(found.verifier.commands[0]?.argv.slice(-3)).toEqual(["verifier", "--", "SEED=7"]);
    expect(found.verifier.collected).toEqual({
      collect: [{ argv: ["bash", "-c", "save"], timeoutSeconds: 60 }],
      artifacts: [{ source: "/logs/artifacts", exclude: [] }],
    });
  });

  it("has no solution where there is no solve.sh, and needs no Dockerfile beside an image", async () => {
    const root = task({
      "environment/Dockerfile": null,
      "task.toml": '[environment]\ndocker_image = "debian:12"\n',
    });
    expect(await readHarborTask(root)).toMatchObject({
      gold: null,
      environment: { image: { kind: "image", reference: "debian:12" } },
    });
  });

  it.each([
    ["instruction.md", null, "field", "instruction.md"],
    ["instruction.md", " \n", "field", "instruction.md"],
    ["instruction.md", new Uint8Array([0x61, 0xff]), "field", "instruction.md"],
    ["environment/Dockerfile", null, "field", "environment/Dockerfile"],
    ["tests/test.sh", null, "field", "tests/test.sh"],
    ["environment/docker-compose.yaml", "services: {}", "unsupported", "environment/docker-compose.yaml"],
    ["tests/.harborignore", "x", "unsupported", "tests/.harborignore"],
  ])("is refused where %s is %j", async (file, content, kind, field) => {
    await expect(readHarborTask(task({ [file]: content }))).rejects.toMatchObject({ kind, field });
  });

  const SEPARATE = 'artifacts = ["/app/out"]\n[verifier]\nenvironment_mode = "separate"\n';

  it("has a verifier in a box of its own where tests/ has a Dockerfile, with what the image does not bring", async () => {
    const root = task({
      "task.toml": `artifacts = [{ source = "/app/out/", exclude = ["*.log"] }]
[environment]
workdir = "/app"
memory_mb = 512
env = { MODE = "test" }
[verifier]
environment_mode = "separate"
env = { SEED = "7" }
[[verifier.collect]]
command = "save"
timeout_sec = 5
`,
      "tests/Dockerfile": "FROM scratch\nCOPY . /tests/\n",
      "tests/test.sh": null,
      "tests/check.py": "",
    });
    const found = await readHarborTask(root);
    expect(found.verifier.files).toEqual([]);
    expect(found.verifier.commands[0]?.argv.slice(-2)).toEqual(["--", "SEED=7"]);
    expect(found.verifierBox).toEqual({
      image: { kind: "build", dockerfile: "Dockerfile", files: expect.any(Array) },
      workdir: "/app",
      env: { MODE: "test" },
      limits: { memoryMb: 512 },
      collect: [{ argv: ["bash", "-c", "save"], timeoutSeconds: 5 }],
      artifacts: [
        { source: "/logs/artifacts", exclude: [] },
        { source: "/app/out", exclude: ["*.log"] },
      ],
    });
    const image = found.verifierBox?.image;
    expect(image?.kind === "build" && image.files.map(({ path }) => path)).toEqual([
      "Dockerfile",
      "check.py",
    ]);
  });

  it("has a verifier of a published image, which is all that its own table says", async () => {
    const own = '[environment]\nworkdir = "/app"\n[verifier.environment]\ndocker_image = "debian:12"\n';
    expect((await readHarborTask(task({ "task.toml": own }))).verifierBox).toMatchObject({
      image: { kind: "image", reference: "debian:12" },
      workdir: null,
      env: {},
      artifacts: [{ source: "/logs/artifacts" }],
    });
  });

  it("has none where the verifier is shared, whatever tests/ holds, or has no image of its own", async () => {
    const shared = await readHarborTask(task({ "tests/Dockerfile": "FROM scratch" }));
    expect(shared.verifierBox).toBeUndefined();
    expect(shared.verifier.files.map(({ path }) => path)).toContain("/tests/Dockerfile");
    const sameImage = await readHarborTask(task({ "task.toml": SEPARATE }));
    expect([sameImage.verifierBox, sameImage.verifier.collected]).toEqual([undefined, undefined]);
    expect(hashJson(sameImage.verifier)).toBe(
      "44bc314ed1f10ac9a67acd436700be2857cd08b670a056712ec0d607524702a4",
    );
  });

  it.each([
    ['"app"', "artifacts[0].source"],
    ['"/"', "artifacts[0].source"],
    ['"/a", "/tests/x"', "artifacts[1].source"],
  ])("is refused where such a verifier would be given %s", async (sources, field) => {
    const text = `artifacts = [${sources}]\n[verifier]\nenvironment_mode = "separate"\n`;
    const root = task({ "task.toml": text, "tests/Dockerfile": "FROM scratch" });
    await expect(readHarborTask(root)).rejects.toMatchObject({ kind: "unsupported", field });
  });

  it("is refused where such a verifier has several containers, or no reference of an image", async () => {
    const compose = task({ "task.toml": SEPARATE, "tests/docker-compose.yaml": "services: {}" });
    await expect(readHarborTask(compose)).rejects.toMatchObject({
      kind: "unsupported",
      field: "tests/docker-compose.yaml",
    });
    const named = task({ "task.toml": '[verifier.environment]\ndocker_image = "a b"\n' });
    await expect(readHarborTask(named)).rejects.toMatchObject({
      kind: "field",
      field: "task.toml, verifier.environment.docker_image",
    });
  });

  it("is refused where a link leads out of it", async () => {
    for (const target of ["/etc/passwd", "../../secret", "a/../../x"]) {
      const root = task();
      symlinkSync(target, join(root, "tests/link"));
      await expect(readHarborTask(root)).rejects.toMatchObject({
        kind: "field",
        field: "tests/link",
        found: target,
      });
    }
  });

  it("shows no canary", () => {
    expect(withoutCanary("<!-- a canary GUID 1 -->\n# CANARY 2\n\nDo it.\n")).toBe("Do it.\n");
    expect(withoutCanary("Do it.\n# canary\n")).toBe("Do it.\n# canary\n");
  });
});

describe("a folder of tasks", () => {
  it("is read in the order of names; a bad task costs only itself", async () => {
    const all = mkdtempSync(join(folder, "all-"));
    for (const [name, files] of Object.entries({
      b: MINIMAL,
      a: MINIMAL,
      c: { ...MINIMAL, "task.toml": "[" },
    }))
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(all, name, path)), { recursive: true });
        writeFileSync(join(all, name, path), content);
      }
    writeFileSync(join(all, "README.md"), "no task");
    const found = await results(all);
    expect(found.map((result) => ("task" in result ? result.task.origin.id : result.error.kind))).toEqual([
      "a",
      "b",
      "row",
    ]);
    expect(await results(all, 1)).toHaveLength(1);
  });

  it("is one error where it holds none, or is not there", async () => {
    const empty = mkdtempSync(join(folder, "empty-"));
    expect(await results(empty)).toMatchObject([{ error: { kind: "file", file: empty } }]);
    expect(await results(join(empty, "none"))).toMatchObject([{ error: { kind: "file", found: "ENOENT" } }]);
  });
});

describe("artifacts", () => {
  const artifact = (source: string, destination: string | null = null, exclude: readonly string[] = []) => ({
    ...{ source, destination, exclude },
  });
  const chosen = (...declared: ReturnType<typeof artifact>[]) => {
    const { artifacts, notes } = chosenArtifacts(declared, "task.toml");
    return [artifacts.map(({ source }) => source), notes.length];
  };

  it("are those that Harbor copies: the published folder, and of two in one place the first", () => {
    expect(chosen()).toEqual([["/logs/artifacts"], 0]);
    expect(chosen(artifact("/a"), artifact("/logs/artifacts/", null, ["x"]))).toEqual([
      ["/a", "/logs/artifacts"],
      0,
    ]);
    expect(chosen(artifact("/a"), artifact("/a/b"), artifact("/ab"))).toEqual([
      ["/logs/artifacts", "/a", "/ab"],
      1,
    ]);
    expect(chosen(artifact("/a"), artifact("/a/b", "c"))).toEqual([["/logs/artifacts", "/a", "/a/b"], 0]);
    expect(chosen(artifact("/x/y"), artifact("/z", "x"))).toEqual([["/logs/artifacts", "/x/y"], 1]);
  });
});

describe(".dockerignore", () => {
  const text = (path: string, content = "") => ({ kind: "write", path, content, encoding: "utf8" }) as const;
  const left = (rules: string, paths: readonly string[]) =>
    withoutIgnored([text(".dockerignore", rules), ...paths.map((path) => text(path))], "Dockerfile")
      .map(({ path }) => path)
      .slice(1);

  it("leaves out what its last matching rule says", () => {
    expect(left("*\n!src\n", ["Dockerfile", "a", "src/b", "x/y"])).toEqual(["Dockerfile", "src/b"]);
    expect(left("# none\n\n**/*.log\n/tmp/\n", ["a.log", "b/c.log", "tmp/d", "e/tmp/f"])).toEqual([
      "e/tmp/f",
    ]);
    expect(left("node_modules", ["node_modules/a", "b/node_modules/c"])).toEqual(["b/node_modules/c"]);
  });
});
