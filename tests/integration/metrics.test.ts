/** The metrics of a process: its endpoint, what real services leave there, and what the policy server counts. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { Runtime } from "@temporalio/worker";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPolicyServer, type PolicyServer } from "../../services/policy/index.ts";
import { createProcessRuntime, type SandboxSpec } from "../../services/sandbox/index.ts";
import { createLocalArtifacts } from "../../services/store/index.ts";
import { measuredArtifacts, measuredSandboxes } from "../../workers/measures.ts";
import { paceMeasures } from "../../workers/measures-pace.ts";
import { installRuntime } from "../../workers/metrics.ts";
import { scrape, total } from "../support/scrape.ts";

let folder: string;
let other: Server;
let occupied: number;
let url: string;
let policy: PolicyServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tadpole-metrics-"));
  other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  occupied = (other.address() as { port: number }).port;
  url = (await installRuntime({ TADPOLE_METRICS_PORT: String(occupied) }))!;
  policy = await createPolicyServer({ folder: join(folder, "policy"), port: 0 });
});
afterAll(async () => {
  await Promise.all([policy.close(), Runtime.instance().shutdown()]);
  await new Promise((resolve) => other.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

describe("the endpoint of a worker", () => {
  it("takes another port where its own is occupied, and serves on the loopback only", async () => {
    const { hostname, port } = new URL(url);
    expect(hostname).toBe("127.0.0.1");
    expect(Number(port)).not.toBe(occupied);
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address !== undefined && !address.internal && address.family === "IPv4");
    if (outside !== undefined)
      await expect(fetch(`http://${outside.address}:${port}/metrics`)).rejects.toThrow(/fetch failed/);
  });

  it("refuses what is no port and no address, by the variable's name", async () => {
    await expect(installRuntime({ TADPOLE_METRICS_PORT: "70000" })).rejects.toMatchObject({
      kind: "settings",
      message: 'TADPOLE_METRICS_PORT: expected a port number from 1 to 65535, got "70000"',
    });
    await expect(
      installRuntime({ TADPOLE_METRICS_PORT: "20000", TADPOLE_METRICS_HOST: "localhost" }),
    ).rejects.toMatchObject({ kind: "settings", message: expect.stringContaining("TADPOLE_METRICS_HOST") });
  });

  it("has a series for every boot of a sandbox, those that failed by what went wrong", async () => {
    const process_ = createProcessRuntime({ root: join(folder, "sandboxes"), nodePath: process.execPath });
    const runtime = measuredSandboxes(process_, Runtime.instance().metricMeter);
    mkdirSync(join(folder, "tree"));
    const spec: SandboxSpec = {
      root: join(folder, "tree"),
      overlay: [],
      mounts: [],
      limits: { memoryMb: 256, processes: 16, diskMb: 16 },
      env: {},
    };
    const identity = { experiment: "e", slot: "s", attempt: 1, fence: "f", deadline: Date.now() + 60_000 };
    for (const fence of ["a", "b"]) await (await runtime.create(spec, { ...identity, fence })).destroy();
    const outside = { kind: "write", path: "../outside", content: "", encoding: "utf8" } as const;
    await expect(
      runtime.create({ ...spec, overlay: [outside] }, { ...identity, fence: "c" }),
    ).rejects.toMatchObject({ name: "SandboxError" });
    expect(await runtime.reap({ now: Date.now() })).toBe(0);
    const samples = await scrape(url);
    const boots = "tadpole_sandbox_boot_seconds_count";
    expect(total(samples, boots, { outcome: "Completed" })).toBe(2);
    expect(total(samples, boots, { outcome: "SandboxError.path" })).toBe(1);
    expect(total(samples, boots)).toBe(3);
    expect(total(samples, "tadpole_sandbox_boot_seconds_bucket", { outcome: "Completed", le: "60" })).toBe(2);
    expect(total(samples, "tadpole_sandboxes_reaped_total")).toBe(0);
  });

  it("counts the bytes of artifacts by kind", async () => {
    const local = await createLocalArtifacts(join(folder, "artifacts"));
    const store = measuredArtifacts(local, Runtime.instance().metricMeter);
    const ref = await store.put(new Uint8Array(1234), "log");
    await store.put(new Uint8Array(66), "log");
    expect(await store.get(ref)).toHaveLength(1234);
    expect(total(await scrape(url), "tadpole_artifact_bytes_total", { kind: "log" })).toBe(1300);
  });

  it("counts tokens of batches by their age, and groups that were left for theirs", async () => {
    const count = paceMeasures(Runtime.instance().metricMeter);
    const input = {
      ...{ scope: { experiment: "e", iteration: 1, try: 1 }, update: 1, groups: ["g"] },
      advantage: { estimator: "no-std" },
    } as const;
    const output = { batch: null, kept: 1, dropped: 0 };
    count(input, output);
    const left = { refreshed: { "too-slow": 2 }, dropped: { "too-old": 1 } };
    const pace = { versions: ["a", "b"], left, waitedSeconds: 7.4, idleShare: 0.1 };
    count({ ...input, pace }, { ...output, lags: [5, 30, 0, 0, 0, 0, 0, 0, 2, 1] });
    const samples = await scrape(url);
    expect(total(samples, "tadpole_batch_tokens_total", { lag: "1" })).toBe(30);
    expect(total(samples, "tadpole_batch_tokens_total", { lag: "8+" })).toBe(3);
    const stale = "tadpole_stale_groups_total";
    expect(total(samples, stale, { fate: "refreshed", reason: "too-slow" })).toBe(2);
    expect(total(samples, stale, { fate: "dropped", reason: "too-old" })).toBe(1);
    expect(total(samples, "tadpole_trainer_wait_seconds_total")).toBe(7);
  });
});

describe("the policy server", () => {
  it("counts requests by route and status; what a client asks for becomes no label", async () => {
    for (const path of ["/health", "/health", "/no/such/route?x=1"])
      await (await fetch(policy.url + path)).arrayBuffer();
    await (await fetch(`${policy.url}/v1/completions`, { method: "POST", body: "{" })).arrayBuffer();
    const samples = await scrape(`${policy.url}/metrics`);
    const requests = (labels: Record<string, string>) =>
      total(samples, "tadpole_policy_requests_total", labels);
    expect(requests({ route: "/health", status: "200" })).toBe(2);
    expect(requests({ route: "other", status: "404" })).toBe(1);
    expect(requests({ route: "/v1/completions", status: "400" })).toBe(1);
    expect(total(samples, "tadpole_policy_request_seconds_count", { route: "/health" })).toBe(2);
    const buckets = samples.filter(
      ({ name, labels }) => name === "tadpole_policy_request_seconds_bucket" && labels.route === "/health",
    );
    const counts = buckets.map(({ value }) => value);
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    expect(buckets.at(-1)).toMatchObject({ labels: { le: "+Inf" }, value: 2 });
    expect(total(samples, "tadpole_policies_served")).toBe(0);
    expect(total(samples, "tadpole_policy_active_completions")).toBe(0);
  });
});
