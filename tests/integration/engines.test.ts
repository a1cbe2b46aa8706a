/** What is asked of engines and model folders before anything is sampled. */
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { checkPolicy } from "../../apps/control/checks.ts";
import { canonicalJson } from "../../core/canonical.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { PolicyRef } from "../../core/policy.ts";
import type { ModelFiles } from "../../services/policy/model/files.ts";
import { checkModelFolder } from "../../services/policy/model/folder.ts";
import { createTemplateSource } from "../../services/policy/model/of-checkpoint.ts";
import { type ArtifactStore, createLocalArtifacts } from "../../services/store/index.ts";
import { type FakeEngine, type FakeEngineOptions, startFakeEngine } from "../support/fake-engines/index.ts";
import { chatmlModel } from "../support/models/index.ts";
import { smallestSettings } from "../support/smallest.ts";

describe("an experiment on engines", () => {
  let engines: FakeEngine[] = [];
  afterEach(async () => {
    await Promise.all(engines.map((engine) => engine.close()));
    engines = [];
  });

  async function settingsOf(...given: Partial<FakeEngineOptions>[]): Promise<ExperimentSettings> {
    engines = await Promise.all(given.map((options) => startFakeEngine({ kind: "vllm", ...options })));
    return {
      ...smallestSettings,
      policy: {
        ...smallestSettings.policy,
        kind: "vllm",
        model: "/models/tiny",
        engines: {
          urls: engines.map(({ url }) => url),
          weightsFolder: null,
          calls: "hermes-json",
          turnsInFlight: 8,
          pausedShare: 0.5,
          onPublish: "finish",
        },
      },
    };
  }
  const refused = async (settings: ExperimentSettings) =>
    (await checkPolicy(settings, "x.yaml").catch((error: unknown) => error)) as Error;

  it("begins where all of them can be trained with, whatever weights they have by then", async () => {
    await expect(checkPolicy(await settingsOf({}, {}), "x.yaml")).resolves.toBeUndefined();
  });

  it("is refused by the setting's name where nothing says what an engine serves", async () => {
    const failed = await refused(await settingsOf({}, { devMode: false }));
    expect(failed.name).toBe("SettingsError");
    expect(failed.message).toMatch(
      /^x\.yaml: policy\.engines\.urls: expected engines of one model .*VLLM_SERVER_DEV_MODE=1/,
    );
    expect(failed.message).toContain("no weight version");
  });

  it("is refused where they serve different models", async () => {
    const failed = await refused(await settingsOf({ model: "a" }, { model: "b" }));
    expect(failed.message).toContain(
      `engines of different models: ${engines[0]!.url} serves a of 8192 tokens, ${engines[1]!.url} serves b of 8192 tokens`,
    );
  });

  it("is refused where one does not answer", async () => {
    const settings = await settingsOf({}, {});
    await engines[1]!.die();
    expect((await refused(settings)).message).toMatch(new RegExp(`${engines[1]!.url}\\S*: .*ECONNREFUSED`));
  });
});

describe("a model folder", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "model-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("must hold what prompts are made of", async () => {
    const names = Object.entries(chatmlModel("qwen"));
    for (const [name, text] of names) await writeFile(join(folder, name), text);
    await expect(checkModelFolder(folder)).resolves.toBeUndefined();
    await rm(join(folder, "chat_template.jinja"));
    await expect(checkModelFolder(folder)).rejects.toMatchObject({
      kind: "capability",
      message: expect.stringContaining(`model ${folder}: chat_template.jinja: it is not there`),
    });
  });
});

describe("the template of a checkpoint", () => {
  let folder: string;
  let artifacts: ArtifactStore;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "template-"));
    artifacts = await createLocalArtifacts(folder);
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** A policy whose weights are `weights` and whose other files are given. */
  async function policyOf(weights: string, files: ModelFiles): Promise<PolicyRef> {
    const put = (text: string) => artifacts.put(Buffer.from(text), "policy");
    const entries = Object.entries({ ...files, "config.json": "{}", "model.safetensors": weights });
    const model = await Promise.all(
      entries.map(async ([path, text]) => ({ path, artifact: await put(text) })),
    );
    const manifest = { format: "tadpole-checkpoint", version: 1, model, optimizer: [], step: 0 };
    const checkpoint = await put(canonicalJson(manifest));
    return { id: `vllm-${checkpoint.sha256.slice(0, 16)}`, checkpoint, parent: null, step: 0 };
  }
  const reads: string[] = [];
  const counting = (): ArtifactStore => ({
    ...artifacts,
    get: (ref) => {
      reads.push(ref.sha256);
      return artifacts.get(ref);
    },
  });
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

  it("is made of its small files alone, once for the versions that share them", async () => {
    const templateOf = createTemplateSource(counting());
    const files = chatmlModel("hermes");
    const [first, next] = [await policyOf("one", files), await policyOf("two", files)];
    const template = await templateOf(first, "hermes-json");
    expect(await templateOf(next, "hermes-json")).toBe(template);
    expect(await templateOf(first, "generic")).not.toBe(template);
    expect(reads).not.toContain(sha256("one"));
    expect(template.start([{ role: "user", content: "a" }], []).length).toBeGreaterThan(5);
  });

  it("is refused by the policy's and the file's name where a file is missing", async () => {
    const { "tokenizer.json": _, ...files } = chatmlModel("hermes");
    const policy = await policyOf("three", files);
    await expect(createTemplateSource(artifacts)(policy, "generic")).rejects.toMatchObject({
      name: "PolicyError",
      kind: "capability",
      message: `model ${policy.id}: tokenizer.json: it is not there: expected the tokenizer of the model`,
    });
  });
});
