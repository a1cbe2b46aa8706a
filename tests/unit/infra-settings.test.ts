/** What the environment asks of a stack. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { processTable } from "../../infra/stack/processes.ts";
import {
  checkAgainstRunning,
  databaseUrl,
  describeDatabase,
  hostOptions,
  stackSettings,
} from "../../infra/stack/settings.ts";
import type { StackState } from "../../infra/stack/state.ts";
import { connectionOptions, connectTemporal, temporalFromEnv } from "../../infra/stack/temporal.ts";

const cloud = {
  TEMPORAL_ADDRESS: "ns.tmprl.cloud:7233",
  TEMPORAL_NAMESPACE: "ns",
  TEMPORAL_API_KEY: "secret",
};

describe("temporalFromEnv", () => {
  it("is null without an address, so that the stack runs its own server", () => {
    expect(temporalFromEnv({ TEMPORAL_NAMESPACE: "x" })).toBeNull();
  });

  it("names the variable of the key and never holds the key", () => {
    const settings = temporalFromEnv(cloud)!;
    expect(settings).toEqual({
      address: "ns.tmprl.cloud:7233",
      namespace: "ns",
      apiKeyVariable: "TEMPORAL_API_KEY",
      tls: null,
    });
    expect(JSON.stringify(settings)).not.toContain("secret");
    expect(connectionOptions(settings, cloud)).toEqual({
      address: "ns.tmprl.cloud:7233",
      apiKey: "secret",
      tls: true,
    });
    expect(() => connectionOptions(settings, {})).toThrow(
      /TEMPORAL_API_KEY: this stack's Temporal needs the key/,
    );
  });

  it.each(["localhost", "http://localhost:7233", "a b:1", ":7233"])("refuses %j", (address) => {
    expect(() => temporalFromEnv({ TEMPORAL_ADDRESS: address })).toThrow(
      /TEMPORAL_ADDRESS: expected HOST:PORT/,
    );
  });

  it("accepts an IPv6 address", () => {
    expect(temporalFromEnv({ TEMPORAL_ADDRESS: "[::1]:7233" })?.address).toBe("[::1]:7233");
  });

  it("takes TLS by the names that Temporal's own clients read", () => {
    const base = { TEMPORAL_ADDRESS: "temporal.internal:7233" };
    const pem = import.meta.filename;
    const bytes = readFileSync(pem);
    const optionsOf = (env: NodeJS.ProcessEnv) =>
      connectionOptions(temporalFromEnv({ ...base, ...env })!, env);
    expect(optionsOf({}).tls).toBeUndefined();
    expect(optionsOf({ TEMPORAL_TLS: "true" }).tls).toBe(true);
    expect(
      optionsOf({
        TEMPORAL_TLS_CLIENT_CERT_PATH: pem,
        TEMPORAL_TLS_CLIENT_KEY_PATH: pem,
        TEMPORAL_TLS_SERVER_CA_CERT_PATH: pem,
        TEMPORAL_TLS_SERVER_NAME: "temporal",
      }).tls,
    ).toEqual({
      clientCertPair: { crt: bytes, key: bytes },
      serverRootCACertificate: bytes,
      serverNameOverride: "temporal",
    });
    // An authority of one's own beside an API key: the key goes nowhere else.
    const withKey = { TEMPORAL_API_KEY: "secret", TEMPORAL_TLS_SERVER_CA_CERT_PATH: pem };
    expect(optionsOf(withKey)).toMatchObject({ apiKey: "secret", tls: { serverRootCACertificate: bytes } });
    expect(() => optionsOf({ TEMPORAL_TLS: "maybe" })).toThrow(/^TEMPORAL_TLS: expected true or false/);
    expect(() => optionsOf({ TEMPORAL_TLS: "false", TEMPORAL_TLS_SERVER_NAME: "x" })).toThrow(
      /it is off, but/,
    );
  });

  it("wants both TLS files, and wants them there", () => {
    const base = { TEMPORAL_ADDRESS: "host:1" };
    expect(() => temporalFromEnv({ ...base, TEMPORAL_TLS_CERT: import.meta.filename })).toThrow(
      /expected both paths/,
    );
    expect(() =>
      temporalFromEnv({ ...base, TEMPORAL_TLS_CERT: import.meta.filename, TEMPORAL_TLS_KEY: "/none.pem" }),
    ).toThrow(/TEMPORAL_TLS_KEY: expected a PEM file, but \/none.pem does not exist/);
    const settings = temporalFromEnv({
      ...base,
      TEMPORAL_TLS_CERT: import.meta.filename,
      TEMPORAL_TLS_KEY: import.meta.filename,
    })!;
    expect(connectionOptions(settings, {}).tls).toHaveProperty("clientCertPair.key");
  });
});

describe("connectTemporal", () => {
  it("says which address does not answer", async () => {
    const settings = { address: "127.0.0.1:1", namespace: "default", apiKeyVariable: null, tls: null };
    await expect(connectTemporal(settings, 0.3)).rejects.toMatchObject({
      kind: "unreachable",
      message: expect.stringMatching(/^Temporal at 127\.0\.0\.1:1 does not answer \(.*ECONNREFUSED/),
    });
  });
});

describe("the options of a sandbox host", () => {
  it("hold the bounds of disk and images, for whatever makes sandboxes there", () => {
    const bounds = { TADPOLE_MIN_FREE_MB: "7", TADPOLE_IMAGE_CACHE_MB: "9" };
    expect(hostOptions("data", bounds)).toEqual({
      dataFolder: resolve("data"),
      nodePath: process.execPath,
      minFreeMb: 7,
      imageCacheMb: 9,
    });
    expect(hostOptions("/data", {})).toMatchObject({ minFreeMb: 512, imageCacheMb: 20_480 });
    expect(() => hostOptions("/data", { TADPOLE_IMAGE_CACHE_MB: "much" })).toThrow(
      /TADPOLE_IMAGE_CACHE_MB: expected a whole number of MB, got "much"/,
    );
  });
});

describe("a database URL", () => {
  it("is shown without its password", () => {
    expect(describeDatabase("postgresql://me:secret@db.host:5433/runs?ssl=1")).toEqual({
      host: "db.host:5433",
      database: "runs",
    });
  });

  it("has to be one of Postgres", () => {
    expect(() => stackSettings({ DATABASE_URL: "mysql://x" })).toThrow(/DATABASE_URL: expected postgresql:/);
    expect(() => stackSettings({ TADPOLE_WORKER_VERSIONING: "pin" })).toThrow(
      'TADPOLE_WORKER_VERSIONING: expected auto, pinned or nothing, got "pin"',
    );
    expect(() => stackSettings({ TADPOLE_METRICS_HOST: "localhost" })).toThrow(
      /TADPOLE_METRICS_HOST: expected/,
    );
    expect(stackSettings({ TADPOLE_WORKER_VERSIONING: "auto" }).versioning).toBe("auto");
    expect(stackSettings({ TADPOLE_WORKER_VERSIONING: "" }).versioning).toBeNull();
    expect(() => describeDatabase("postgresql://[")).toThrow(/DATABASE_URL: expected postgresql:/);
  });
});

describe("a running stack", () => {
  const running = {
    dataFolder: "/data",
    ports: {
      temporal: 1,
      temporalUi: 2,
      temporalHttp: 3,
      temporalMetrics: 4,
      postgres: 5,
      policy: 6,
      orchestrateMetrics: 7,
      sandboxMetrics: 8,
      gpuMetrics: 9,
    },
    temporal: { address: "127.0.0.1:1", namespace: "default" },
    postgres: { external: true, host: "db:5432", database: "runs" },
  } as StackState;

  it("is joined when the environment asks for nothing or for the same", () => {
    checkAgainstRunning(running, stackSettings({}));
    checkAgainstRunning(
      running,
      stackSettings({
        TEMPORAL_ADDRESS: "127.0.0.1:1",
        DATABASE_URL: "postgres://u@db:5432/runs",
        TADPOLE_POLICY_PORT: "6",
      }),
    );
  });

  it.each([
    { TEMPORAL_ADDRESS: "other:7233" },
    { TEMPORAL_ADDRESS: "127.0.0.1:1", TEMPORAL_NAMESPACE: "other" },
    { DATABASE_URL: "postgres://u@db:5432/other" },
    { TADPOLE_POLICY_PORT: "7" },
  ])("refuses %j", (env) => {
    expect(() => checkAgainstRunning(running, stackSettings(env))).toThrow(/run tadpole down first/);
  });

  it("whose database is elsewhere needs DATABASE_URL again", () => {
    expect(() => databaseUrl(running, {})).toThrow(/DATABASE_URL: this stack's Postgres is db:5432\/runs/);
    expect(databaseUrl(running, { DATABASE_URL: "postgres://u@db:5432/runs" })).toBe(
      "postgres://u@db:5432/runs",
    );
  });
});

describe("the table of processes", () => {
  const table = (env: NodeJS.ProcessEnv) =>
    processTable({
      folder: "/data",
      ports: {
        temporal: 1,
        temporalUi: 2,
        temporalHttp: 3,
        temporalMetrics: 4,
        postgres: 5,
        policy: 6,
        orchestrateMetrics: 7,
        sandboxMetrics: 8,
        gpuMetrics: 9,
      },
      settings: stackSettings(env),
      env,
    });

  it("has needs that are in it and marks that differ", () => {
    const names = table({}).map(({ name }) => name);
    for (const { needs } of table({})) for (const need of needs) expect(names).toContain(need);
    expect(new Set(table({}).map(({ mark }) => mark)).size).toBe(names.length);
    expect(table({}).every(({ absent }) => absent === null)).toBe(true);
  });

  it("leaves out what runs elsewhere and what TADPOLE_STACK_ONLY does not name", () => {
    const absent = (env: NodeJS.ProcessEnv) =>
      Object.fromEntries(table(env).map((each) => [each.name, each.absent]));
    expect(absent({ TEMPORAL_ADDRESS: "h:1", DATABASE_URL: "postgres://h/d" })).toMatchObject({
      temporal: "external",
      postgres: "external",
      gpu: null,
    });
    expect(absent({ TADPOLE_STACK_ONLY: "postgres", TEMPORAL_ADDRESS: "h:1" })).toMatchObject({
      temporal: "external",
      postgres: null,
      gpu: "skipped",
    });
    expect(() => table({ TADPOLE_STACK_ONLY: "postgres,redis" })).toThrow(
      /TADPOLE_STACK_ONLY: expected names of .*got "redis"/,
    );
  });
});
