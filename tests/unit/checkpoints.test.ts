/** Model folders as checkpoints: what is refused, what comes back byte for byte, and what never gets a name. */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHECKPOINT_MARKER } from "../../core/checkpoint.ts";
import { type PolicyRef, policyId } from "../../core/policy.ts";
import {
  listFolders,
  materialise,
  packCheckpoint,
  readManifest,
  removeFolders,
} from "../../services/checkpoints/index.ts";
import { type ArtifactStore, createLocalArtifacts } from "../../services/store/index.ts";
import { safetensors, writeModel } from "../support/model-folder.ts";

let root: string;
let artifacts: ArtifactStore;
let made = 0;
const fresh = (name: string) => join(root, `${name}-${made++}`);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tadpole-checkpoints-"));
  artifacts = await createLocalArtifacts(join(root, "artifacts"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

async function policyOf(seed: number, store = artifacts): Promise<{ policy: PolicyRef; model: string }> {
  const model = await writeModel(fresh("model"), { seed });
  const checkpoint = await packCheckpoint(store, { model, optimizer: null, step: 0 });
  return {
    model,
    policy: { id: policyId("vllm", checkpoint.sha256), checkpoint, parent: null, step: 0 },
  };
}

const SHARD = "model-00002-of-00002.safetensors";

describe("packing a model folder", () => {
  const refusals: [string, (folder: string) => Promise<void>, string][] = [
    ["no config.json", (folder) => rm(join(folder, "config.json")), "config.json is missing"],
    ["no tokenizer", (folder) => rm(join(folder, "tokenizer.json")), "tokenizer.json is missing"],
    [
      "a config that is not JSON",
      (folder) => writeFile(join(folder, "config.json"), "{"),
      "config.json is not JSON",
    ],
    [
      "a missing shard",
      (folder) => rm(join(folder, SHARD)),
      `${SHARD} is missing, which model.safetensors.index.json names`,
    ],
    [
      "a missing shard and no index",
      async (folder) => {
        await rm(join(folder, "model.safetensors.index.json"));
        await rm(join(folder, SHARD));
      },
      `${SHARD} is missing`,
    ],
    ["a shard cut short", (folder) => truncate(join(folder, SHARD), 300), `${SHARD} has 300 bytes`],
    [
      "a shard without its tensors",
      (folder) => writeFile(join(folder, SHARD), safetensors(["other"], 1)),
      `${SHARD} does not hold layers.2.a`,
    ],
    [
      "no weights",
      async (folder) => {
        for (const name of await readdir(folder)) if (name.startsWith("model")) await rm(join(folder, name));
      },
      "no *.safetensors is in it",
    ],
  ];
  it.each(refusals)("refuses a folder with %s, naming the file", async (_, spoil, message) => {
    const folder = await writeModel(fresh("model"));
    await spoil(folder);
    await expect(
      packCheckpoint(artifacts, { model: folder, optimizer: null, step: 0 }),
    ).rejects.toMatchObject({
      name: "TrainerError",
      kind: "model",
      message: expect.stringContaining(`model folder ${folder}: ${message}`),
    });
  });

  it("refuses a folder that is not there", async () => {
    const model = join(root, "nowhere");
    await expect(packCheckpoint(artifacts, { model, optimizer: null, step: 0 })).rejects.toMatchObject({
      kind: "model",
      message: `model folder ${model}: there is no such folder`,
    });
  });

  it("gives the same checkpoint for the same files, and another one for other weights", async () => {
    const [a, again, b] = [await policyOf(1), await policyOf(1), await policyOf(2)];
    expect(again.policy.id).toBe(a.policy.id);
    expect(b.policy.id).not.toBe(a.policy.id);
  });

  it("keeps the optimizer's state beside the model, and nothing that is no part of either", async () => {
    const model = await writeModel(fresh("model"));
    await writeFile(join(model, "run.py"), "print()");
    await writeFile(join(model, "pytorch_model.bin"), "old");
    const optimizer = fresh("optimizer");
    await mkdir(join(optimizer, "rank-0"), { recursive: true });
    await writeFile(join(optimizer, "rank-0", "moments.bin"), "moments");
    const checkpoint = await packCheckpoint(artifacts, { model, optimizer, step: 3 });
    const policy = { id: policyId("vllm", checkpoint.sha256), checkpoint, parent: null, step: 3 };
    const manifest = await readManifest(artifacts, policy);
    expect(manifest.step).toBe(3);
    expect(manifest.optimizer.map(({ path }) => path)).toEqual(["rank-0/moments.bin"]);
    expect(manifest.model.map(({ path }) => path)).toEqual([
      "config.json",
      "model-00001-of-00002.safetensors",
      SHARD,
      "model.safetensors.index.json",
      "tokenizer.json",
      "tokenizer_config.json",
    ]);
  });

  it.each([
    ["other bytes", Buffer.from("weights")],
    [
      "a path out of the folder",
      Buffer.from(
        JSON.stringify({
          format: "tadpole-checkpoint",
          version: 1,
          model: [
            {
              path: "../x",
              artifact: { uri: "artifact:0", sha256: "0".repeat(64), bytes: 1, kind: "policy" },
            },
          ],
          optimizer: [],
          step: 0,
        }),
      ),
    ],
  ])("takes no checkpoint for a manifest that is %s", async (_, bytes) => {
    const checkpoint = await artifacts.put(bytes, "policy");
    const policy = { id: "vllm-x", checkpoint, parent: null, step: 0 };
    await expect(materialise(artifacts, policy, fresh("weights"))).rejects.toMatchObject({
      kind: "model",
      message: expect.stringContaining("is no manifest of a model's files"),
    });
  });
});

describe("a weights folder", () => {
  it("holds the model byte for byte under the policy's id", async () => {
    const { policy, model } = await policyOf(1);
    const weights = fresh("weights");
    const folder = await materialise(artifacts, policy, weights);
    expect(folder).toBe(join(weights, policy.id));
    for (const name of await readdir(model))
      expect(await readFile(join(folder, name))).toEqual(await readFile(join(model, name)));
    expect(await listFolders(weights)).toMatchObject([{ name: policy.id }]);
  });

  it("shares unchanged files between versions", async () => {
    const weights = fresh("weights");
    const [a, b] = [(await policyOf(1)).policy, (await policyOf(2)).policy];
    const [first, second] = [
      await materialise(artifacts, a, weights),
      await materialise(artifacts, b, weights),
    ];
    const inode = async (folder: string, name: string) => (await stat(join(folder, name))).ino;
    expect(await inode(second, "tokenizer.json")).toBe(await inode(first, "tokenizer.json"));
    expect(await inode(second, SHARD)).not.toBe(await inode(first, SHARD));
  });

  it("takes no changed file of another version for its own", async () => {
    const weights = fresh("weights");
    const { policy: a } = await policyOf(1);
    const { policy: b, model } = await policyOf(2);
    const first = await materialise(artifacts, a, weights);
    await rm(join(first, "tokenizer.json"));
    await writeFile(join(first, "tokenizer.json"), "changed");
    const second = await materialise(artifacts, b, weights);
    expect(await readFile(join(second, "tokenizer.json"))).toEqual(
      await readFile(join(model, "tokenizer.json")),
    );
  });

  it("goes on with a half copied folder, believing no byte of it", async () => {
    const weights = fresh("weights");
    const { policy, model } = await policyOf(1);
    const incoming = join(weights, ".incoming", policy.id);
    await mkdir(incoming, { recursive: true });
    const [right, wrong] = ["config.json", "tokenizer.json"];
    await writeFile(join(incoming, right!), await readFile(join(model, right!)));
    await writeFile(join(incoming, wrong!), "half");
    await writeFile(join(incoming, `${SHARD}.1@host@x`), "left by a crash");
    const kept = (await stat(join(incoming, right!))).ino;
    const folder = await materialise(artifacts, policy, weights);
    expect((await stat(join(folder, right!))).ino).toBe(kept);
    expect(await readFile(join(folder, wrong!))).toEqual(await readFile(join(model, wrong!)));
    expect((await readdir(folder)).sort()).toEqual([CHECKPOINT_MARKER, ...(await readdir(model))].sort());
  });

  it("gives damaged content no name", async () => {
    const store = await createLocalArtifacts(fresh("artifacts"));
    const { policy } = await policyOf(5, store);
    const { model } = await readManifest(store, policy);
    const shard = model.find(({ path }) => path === SHARD)!;
    await writeFile(store.path!(shard.artifact), "changed");
    const weights = fresh("weights");
    await expect(materialise(store, policy, weights)).rejects.toMatchObject({ kind: "damaged" });
    expect(await readdir(weights)).toEqual([".incoming"]);
    expect(await listFolders(weights)).toEqual([]);
  });

  it("is made anew where a file is missing or cut short", async () => {
    const weights = fresh("weights");
    const { policy, model } = await policyOf(1);
    const folder = await materialise(artifacts, policy, weights);
    await rm(join(folder, SHARD));
    await materialise(artifacts, policy, weights);
    expect(await readFile(join(folder, SHARD))).toEqual(await readFile(join(model, SHARD)));
  });

  it("is put together once, however many ask at the same time", async () => {
    const weights = fresh("weights");
    const { policy } = await policyOf(1);
    const folders = await Promise.all([1, 2, 3].map(() => materialise(artifacts, policy, weights)));
    expect(new Set(folders)).toEqual(new Set([join(weights, policy.id)]));
  });

  it("loses old versions, never needed or recent ones or what is none of ours", async () => {
    const weights = fresh("weights");
    const policies = [];
    for (const seed of [1, 2, 3, 4]) policies.push((await policyOf(seed)).policy);
    for (const policy of policies) await materialise(artifacts, policy, weights);
    const [oldest, needed, , newest] = policies.map(({ id }) => id);
    // Asked for again, the third is the last used.
    await materialise(artifacts, policies[2]!, weights);
    await mkdir(join(weights, "mine"));
    await rename(join(weights, newest!, CHECKPOINT_MARKER), join(weights, newest!, "renamed"));
    expect(await removeFolders(weights, new Set([needed!]), 1)).toEqual([oldest]);
    expect((await readdir(weights)).sort()).toEqual(
      [".incoming", "mine", needed!, policies[2]!.id, newest!].sort(),
    );
  });
});
