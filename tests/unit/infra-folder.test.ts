/** The data folder and the state in it. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dataVersion, prepareDataFolder } from "../../infra/stack/data-folder.ts";
import { canonical, dataFolder, packageRoot, stackFiles } from "../../infra/stack/paths.ts";
import { completeInstall, postgresPassword, unprivileged } from "../../infra/stack/postgres.ts";
import { bootId, commandLine, identify } from "../../infra/stack/proc.ts";
import { readStack, type StackState, writeState } from "../../infra/stack/state.ts";
import { cpuShare, stackStatus } from "../../infra/stack/status.ts";
import { stopStack } from "../../infra/stack/stop.ts";

let root: string;
beforeAll(() => {
  root = canonical(mkdtempSync(join(tmpdir(), "tadpole-folder-")));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function state(folder: string, change: Partial<StackState> = {}): StackState {
  return {
    dataFolder: folder,
    bootId: bootId(),
    supervisor: identify(process.pid, commandLine(process.pid))!,
    supervisorCpuSeconds: 1,
    phase: "running",
    startedAt: "2026-01-01T00:00:00.000Z",
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
    temporal: {
      address: "127.0.0.1:1",
      namespace: "default",
      apiKeyVariable: null,
      tls: null,
      external: false,
      ui: null,
    },
    postgres: { external: false, host: "127.0.0.1:5", database: "tadpole" },
    versioning: null,
    policyUrl: "http://127.0.0.1:6",
    processes: [],
    ...change,
  };
}

describe("dataFolder", () => {
  it("is TADPOLE_DATA, else .tadpole of the checkout, never of the current folder", () => {
    expect(dataFolder({ TADPOLE_DATA: root })).toBe(root);
    expect(dataFolder({})).toBe(join(packageRoot, ".tadpole"));
  });

  it("is one folder under two names", () => {
    symlinkSync(root, join(root, "link"));
    expect(dataFolder({ TADPOLE_DATA: join(root, "link") })).toBe(root);
  });
});

describe("prepareDataFolder", () => {
  it("makes the folder with its version, and again changes nothing", () => {
    const folder = join(root, "fresh", "deep");
    expect(prepareDataFolder(folder)).toBe(folder);
    const version = readFileSync(stackFiles(folder).version, "utf8");
    expect(JSON.parse(version)).toEqual({ version: dataVersion });
    prepareDataFolder(folder);
    expect(readFileSync(stackFiles(folder).version, "utf8")).toBe(version);
  });

  it("refuses a newer version and leaves it as it was", () => {
    const folder = join(root, "newer");
    mkdirSync(folder);
    writeFileSync(stackFiles(folder).version, JSON.stringify({ version: dataVersion + 1 }));
    expect(() => prepareDataFolder(folder)).toThrow(
      expect.objectContaining({
        kind: "version",
        message: expect.stringContaining(`version ${dataVersion + 1} is newer`),
      }),
    );
    expect(existsSync(stackFiles(folder).logs)).toBe(false);
    writeFileSync(stackFiles(folder).version, "nonsense");
    expect(() => prepareDataFolder(folder)).toThrow(
      /version.json: expected {"version": NUMBER}, got nonsense/,
    );
  });

  it("refuses what is no writable folder", () => {
    const file = join(root, "file");
    writeFileSync(file, "");
    const refused = (folder: string) =>
      expect(() => prepareDataFolder(folder)).toThrow(
        expect.objectContaining({
          kind: "data-folder",
          message: expect.stringContaining(`TADPOLE_DATA: ${folder} is not a writable folder`),
        }),
      );
    refused(join(file, "below"));
    refused("/proc/sys");
    refused("/proc/none/below");
    if (process.getuid?.() === 0) return;
    mkdirSync(join(root, "locked"));
    chmodSync(join(root, "locked"), 0o500);
    refused(join(root, "locked"));
  });
});

describe("stack.json", () => {
  it("is null before the first start, and what was written after it", () => {
    const folder = prepareDataFolder(join(root, "state"));
    expect(readStack(folder)).toBeNull();
    expect(stackStatus(folder).phase).toBe("never started");
    writeState(state(folder));
    expect(readStack(folder)).toEqual(state(folder));
    expect(statSync(stackFiles(folder).state).mode & 0o777).toBe(0o600);
  });

  it("reads as dead when its supervisor is gone, is another process by now, or lived before the machine restarted", () => {
    const folder = prepareDataFolder(join(root, "dead"));
    const own = state(folder).supervisor;
    for (const change of [
      { supervisor: { ...own, pid: 2 ** 22 + 1 } },
      { supervisor: { ...own, startTicks: own.startTicks - 1 } },
      { bootId: "an earlier boot" },
    ]) {
      writeState(state(folder, change));
      expect(readStack(folder)?.phase).toBe("dead");
    }
    writeState(state(folder, { bootId: "an earlier boot", phase: "stopped" }));
    expect(readStack(folder)?.phase).toBe("stopped");
  });

  it.each(["{", "null", "{}", "[]", "1", '{"phase":"running"}'])(
    "that is damaged (%s) is one message with the remedy",
    (text) => {
      const folder = prepareDataFolder(join(root, "damaged"));
      writeFileSync(stackFiles(folder).state, text);
      expect(() => readStack(folder)).toThrow(/stack.json: expected the state of a stack; remove this file/);
    },
  );

  it("whose recorded process is somebody else by now has nobody ended by stop", async () => {
    const folder = prepareDataFolder(join(root, "reused"));
    const own = state(folder).supervisor;
    const process = (identity: typeof own) => ({
      name: "temporal" as const,
      phase: "ready" as const,
      identity,
      restarts: 0,
      cpuPastSeconds: 0,
      cpuSeconds: 0,
      problem: null,
      metricsUrl: null,
      log: "",
    });
    // This test's own pid, once with another start time, once with another command: a mistake would end the test run.
    writeState(
      state(folder, {
        bootId: "an earlier boot",
        processes: [
          process(own),
          process({ ...own, startTicks: 1 }),
          process({ ...own, command: "temporal server" }),
        ],
      }),
    );
    expect(await stopStack(folder)).toEqual({ stopped: false, leftovers: 0 });
    expect(readStack(folder)).toMatchObject({ phase: "stopped", processes: [{ identity: null }, {}, {}] });
  });
});

describe("postgres", () => {
  it("keeps one password per folder, for its owner only", () => {
    const folder = prepareDataFolder(join(root, "password"));
    const password = postgresPassword(folder);
    expect(password).toMatch(/^[0-9a-f]{48}$/);
    expect(postgresPassword(folder)).toBe(password);
    expect(statSync(stackFiles(folder).postgresPassword).mode & 0o777).toBe(0o600);
    expect(postgresPassword(prepareDataFolder(join(root, "password-2")))).not.toBe(password);
  });

  it("gets the links of its libraries though npm ran no install script", () => {
    const native = join(root, "package", "native");
    mkdirSync(join(native, "lib"), { recursive: true });
    writeFileSync(join(native, "lib/libpq.so.5.18"), "library");
    const target = "native/lib/libpq.so.5";
    writeFileSync(
      join(native, "pg-symlinks.json"),
      JSON.stringify([{ source: "native/lib/libpq.so.5.18", target }]),
    );
    for (let times = 0; times < 2; times++) {
      completeInstall(native);
      expect(readFileSync(join(root, "package", target), "utf8")).toBe("library");
    }
    completeInstall(join(root, "package"));
  });

  it("is wrapped only where the user is root", () => {
    expect(unprivileged("postgres", ["-D", "x"], 1000)).toEqual({ file: "postgres", args: ["-D", "x"] });
    expect(unprivileged("postgres", ["-D", "x"], 0)).toMatchObject({
      file: "unshare",
      args: expect.arrayContaining(["postgres", "-D", "x"]),
    });
  });
});

describe("the account of CPU time", () => {
  it("gives the share of Temporal and Postgres", () => {
    const account = (temporal: number, postgres: number, gpu: number) =>
      cpuShare([
        { name: "temporal", cpuSeconds: temporal },
        { name: "postgres", cpuSeconds: postgres },
        { name: "gpu", cpuSeconds: gpu },
      ]);
    expect(cpuShare([])).toEqual({ totalSeconds: 0, infrastructureSeconds: 0, infrastructureShare: 0 });
    expect(account(1, 1, 6)).toEqual({
      totalSeconds: 8,
      infrastructureSeconds: 2,
      infrastructureShare: 0.25,
    });
  });
});
