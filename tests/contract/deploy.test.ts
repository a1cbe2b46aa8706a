/** The deployment's files are read by the programs and schemas that they are for, and agree with each other and with the code. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { packageRoot } from "../../infra/stack/paths.ts";
import { requireTool, TOOLS } from "../../infra/tools.ts";
import { QUEUES } from "../../workflows/queues.ts";

const deploy = join(packageRoot, "infra/deploy");
const dockerfile = readFileSync(join(deploy, "Dockerfile"), "utf8");

interface Service {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly target: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly deploy?: {
    readonly resources: {
      readonly reservations: { readonly devices: readonly { device_ids: readonly string[] }[] };
    };
  };
}

async function compose(
  environment: string,
): Promise<{ readonly services: Readonly<Record<string, Service>> }> {
  const args = ["-f", join(deploy, "compose.yaml"), "--env-file", environment, "config", "--format", "json"];
  const { stdout } = await promisify(execFile)(requireTool(TOOLS.compose), args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
  });
  return JSON.parse(stdout);
}

describe("the compose file", () => {
  let services: Readonly<Record<string, Service>>;
  beforeAll(async () => {
    services = (await compose(join(deploy, "example.env"))).services;
  });

  it("is one that Compose reads, with images of a version and targets that are there", () => {
    for (const [name, { image, build }] of Object.entries(services)) {
      if (build === undefined) expect(image, name).toMatch(/^[a-z0-9./-]+:v?\d+\.\d+/);
      else {
        expect(existsSync(join(build.context, build.dockerfile)), name).toBe(true);
        expect(dockerfile).toMatch(new RegExp(`^FROM \\w+ AS ${build.target}$`, "m"));
      }
    }
    expect(Object.keys(services)).toEqual(
      expect.arrayContaining(["postgres", "temporal", "objects", "orchestrator", "sandbox", "gpu-worker"]),
    );
  });

  it("gives each GPU to one service: six engines and the trainer", () => {
    const ids = Object.values(services).flatMap(
      (service) =>
        service.deploy?.resources.reservations.devices.flatMap((device) => device.device_ids) ?? [],
    );
    expect([...ids].sort()).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
    expect(Object.keys(services).filter((name) => name.startsWith("engine-"))).toHaveLength(6);
  });

  it("gives workers all that they need to find", () => {
    for (const name of ["orchestrator", "sandbox", "gpu-worker"])
      for (const variable of [
        "DATABASE_URL",
        "TEMPORAL_ADDRESS",
        "TADPOLE_ARTIFACTS",
        "AWS_SECRET_ACCESS_KEY",
      ])
        expect(services[name]?.environment?.[variable], `${name} ${variable}`).toBeTruthy();
  });

  it("is refused without passwords, and says which", async () => {
    await expect(compose("/dev/null")).rejects.toThrow(
      /required variable \w+ is missing a value: see example\.env/,
    );
    expect(readFileSync(join(deploy, "compose.yaml"), "utf8")).not.toMatch(
      /PASSWORD: [a-z]|SECRET_KEY: [a-z]/,
    );
  });
});

describe("the images", () => {
  it("copy and run files that are there", () => {
    const files = [
      ...dockerfile.matchAll(/\/app\/([\w./-]+)/g),
      ...dockerfile.matchAll(/RUN node ([\w./-]+)/g),
    ];
    expect(files.length).toBeGreaterThanOrEqual(4);
    for (const [, file] of files) expect(existsSync(join(packageRoot, file!)), file).toBe(true);
    for (const script of ["entrypoint.sh", "gpu-entrypoint.sh"]) {
      const text = readFileSync(join(deploy, script), "utf8");
      const commands = [...text.matchAll(/bin\/tadpole\.mjs (\w+)/g)].map(([, command]) => command!);
      for (const command of commands)
        expect(existsSync(join(packageRoot, `apps/cli/commands/${command}.ts`)), command).toBe(true);
    }
  });
});

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: the schema says what it is
  readonly [field: string]: any;
}

const folder = join(deploy, "kubernetes");
const documents = (file: string): Manifest[] =>
  parseAllDocuments(readFileSync(join(folder, file), "utf8")).map((document) => document.toJS());
const kustomization = documents("kustomization.yaml")[0]!;
const manifests: Manifest[] = kustomization.resources.flatMap(documents);

/** Of the API's own schemas: https://github.com/tommy351/kubernetes-models-ts */
async function validate(manifest: Manifest): Promise<void> {
  const group = manifest.apiVersion.startsWith("keda.sh/") ? "@kubernetes-models/keda" : "kubernetes-models";
  const { [manifest.kind]: Model } = await import(`${group}/${manifest.apiVersion}/${manifest.kind}`);
  new Model(manifest).validate();
}

describe("the manifests", () => {
  it("are what the API's schemas say, and the check sees what is not", async () => {
    for (const manifest of manifests) await validate(manifest);
    expect(manifests.length).toBeGreaterThan(12);
    const wrong = { ...manifests.find(({ kind }) => kind === "StatefulSet")! };
    await expect(validate({ ...wrong, spec: { ...wrong.spec, replicas: "two" } })).rejects.toThrow(
      /replicas/,
    );
  });

  it("are all of the folder", () => {
    const files = readdirSync(folder).filter((file) => file !== "kustomization.yaml");
    expect([...kustomization.resources].sort()).toEqual(files.sort());
    const keys = manifests.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("name only what is there: labels, claims, settings, images", () => {
    const named = (kind: string) =>
      manifests.filter((manifest) => manifest.kind === kind).map(({ metadata }) => metadata.name);
    const workloads = manifests.filter(({ kind }) => kind === "StatefulSet" || kind === "Deployment");
    const labels = workloads.map(({ spec }) => spec.template.metadata.labels.app);
    for (const { spec, metadata } of workloads) {
      expect(spec.selector.matchLabels, metadata.name).toEqual(spec.template.metadata.labels);
      if (spec.serviceName) expect(named("Service")).toContain(spec.serviceName);
      const { containers, volumes = [] } = spec.template.spec;
      const offered = [
        ...volumes,
        ...(spec.volumeClaimTemplates ?? []).map((claim: Manifest) => claim.metadata),
      ].map(({ name }: { name: string }) => name);
      for (const { persistentVolumeClaim } of volumes)
        if (persistentVolumeClaim)
          expect(named("PersistentVolumeClaim")).toContain(persistentVolumeClaim.claimName);
      for (const { image, volumeMounts = [], envFrom = [] } of containers) {
        expect(image).toMatch(/^tadpole\/(orchestrator|sandbox|gpu)$|:v?\d+\.\d+/);
        for (const { name } of volumeMounts) expect(offered, metadata.name).toContain(name);
        for (const { configMapRef } of envFrom)
          if (configMapRef) expect(named("ConfigMap")).toContain(configMapRef.name);
      }
    }
    for (const { kind, spec } of manifests)
      if (kind === "Service") expect(labels).toContain(spec.selector.app);
    const built = kustomization.images.map(({ name }: { name: string }) => name.replace("tadpole/", ""));
    for (const target of built) expect(dockerfile).toMatch(new RegExp(`^FROM \\w+ AS ${target}$`, "m"));
  });

  it("scale what takes work from that queue", () => {
    const [scaled] = manifests.filter(({ kind }) => kind === "ScaledObject");
    const [trigger] = scaled!.spec.triggers;
    expect(trigger).toMatchObject({ type: "temporal", metadata: { taskQueue: QUEUES.sandbox } });
    expect(
      manifests.some(({ kind, metadata }) => kind === "StatefulSet" && metadata.name === "sandbox"),
    ).toBe(true);
  });

  it("hold no password", () => {
    expect(manifests.filter(({ kind }) => kind === "Secret")).toEqual([]);
    const { data } = manifests.find(({ kind }) => kind === "ConfigMap")!;
    expect(Object.keys(data).filter((name) => /PASSWORD|SECRET|KEY|TOKEN/.test(name))).toEqual([]);
  });
});
