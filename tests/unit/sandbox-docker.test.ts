/** The Docker runtime's decisions, without a daemon: which daemon, what a failure means, how a container is made, archives, scans. */
import { execFileSync } from "node:child_process";
import { lstatSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { connectionFrom, type Machine } from "../../services/sandbox/docker/client.ts";
import {
  baseImage,
  containerOptions,
  environmentOf,
  identityOf,
  labelsOf,
} from "../../services/sandbox/docker/container.ts";
import { daemonError } from "../../services/sandbox/docker/errors.ts";
import type { ShellResult } from "../../services/sandbox/docker/files.ts";
import { BoxScanner, parseFound } from "../../services/sandbox/docker/scan.ts";
import { Semaphore } from "../../services/sandbox/docker/semaphore.ts";
import { type TarEntry, tar } from "../../services/sandbox/docker/tar.ts";
import { untar } from "../../services/sandbox/docker/untar.ts";
import type { Manifest } from "../../services/sandbox/tree/manifest.ts";

const folder = mkdtempSync(join(tmpdir(), "sandbox-docker-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the daemon that is spoken to", () => {
  const machine = (env: Machine["env"], ...existing: string[]): Machine => ({
    env,
    canUse: (path) => existing.includes(path),
    read: (path) => {
      if (!path.startsWith("/certs/")) throw new Error("ENOENT");
      return `content of ${path}`;
    },
  });
  const certs = {
    ca: "content of /certs/ca.pem",
    cert: "content of /certs/cert.pem",
    key: "content of /certs/key.pem",
  };

  it.each([
    [{}, [], { socketPath: "/var/run/docker.sock" }],
    [
      { XDG_RUNTIME_DIR: "/run/user/7" },
      ["/run/user/7/docker.sock"],
      { socketPath: "/run/user/7/docker.sock" },
    ],
    [
      { XDG_RUNTIME_DIR: "/run/user/7" },
      ["/var/run/docker.sock", "/run/user/7/docker.sock"],
      { socketPath: "/var/run/docker.sock" },
    ],
    [
      { HOME: "/home/a" },
      ["/home/a/.docker/run/docker.sock"],
      { socketPath: "/home/a/.docker/run/docker.sock" },
    ],
    [{ DOCKER_HOST: "unix:///x y/d.sock" }, ["/var/run/docker.sock"], { socketPath: "/x y/d.sock" }],
    [{ DOCKER_HOST: "unix://" }, [], { socketPath: "/var/run/docker.sock" }],
    [{ DOCKER_HOST: "tcp://10.0.0.1" }, [], { host: "10.0.0.1", port: 2375, protocol: "http" }],
    [{ DOCKER_HOST: "tcp://[::1]:99" }, [], { host: "::1", port: 99, protocol: "http" }],
    [
      { DOCKER_HOST: "tcp://d:2376", DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: "/certs" },
      [],
      { host: "d", port: 2376, protocol: "https", ...certs },
    ],
    [
      { DOCKER_HOST: "tcp://d", DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: "/certs" },
      [],
      { host: "d", port: 2376, protocol: "https", ...certs },
    ],
  ] as const)("%j %j", (env, existing, expected) => {
    expect(connectionFrom(machine(env, ...existing))).toEqual(expected);
  });

  it.each([
    [{ DOCKER_HOST: "ssh://me@there" }, /DOCKER_HOST=ssh:\/\/me@there .*expected unix:/],
    [{ DOCKER_HOST: "there:2375" }, /DOCKER_HOST=there:2375/],
    [{ DOCKER_HOST: "tcp://" }, /expected tcp:\/\/host:port/],
    [{ DOCKER_HOST: "tcp://d", DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: "/none" }, /\/none\/ca\.pem/],
  ])("is refused for %j", (env, message) => {
    expect(() => connectionFrom(machine(env))).toThrow(message);
    expect(() => connectionFrom(machine(env))).toThrow(expect.objectContaining({ kind: "unavailable" }));
  });
});

describe("a failure of the daemon", () => {
  const failure = (over: object) => Object.assign(new Error("words"), over);
  it.each([
    [{ code: "ECONNREFUSED" }, "unavailable", /no Docker daemon answers at \/d\.sock .*start it/],
    [{ code: "EACCES" }, "unavailable", /group docker/],
    [{ code: "ECONNRESET" }, "unavailable", /broke off while starting/],
    [{ statusCode: 500, json: { message: "write /x: no space left on device" } }, "disk", /disk is full/],
    [{ code: "ENOSPC" }, "disk", /disk is full/],
    [
      {
        statusCode: 400,
        json: { message: 'invalid mount config for type "bind": bind source path does not exist: /y' },
      },
      "unavailable",
      /does not see this machine's files .*\/y.*run the sandbox worker on the daemon's machine/,
    ],
    [
      { statusCode: 404, json: { message: "No such image: a:b" } },
      "unavailable",
      /No such image: a:b; load it there/,
    ],
    [{ statusCode: 500, json: { message: "something" } }, "boot", /failed while starting: something/],
  ])("%j is named", (over, kind, message) => {
    const error = daemonError(failure(over), "/d.sock", "starting", "boot");
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(message);
    expect(daemonError(error, "elsewhere", "again", "lost")).toBe(error);
  });
});

describe("a container", () => {
  const identity = { experiment: "e", slot: "s", attempt: 2, fence: "f", deadline: 99 };
  const spec = {
    root: "/r",
    overlay: [],
    mounts: [{ source: "/m", target: "/repo/node_modules" }],
    limits: { memoryMb: 256, processes: 10, diskMb: 64 },
    env: { A: "1" },
  };
  const parts = {
    name: "n",
    labels: labelsOf(identity, "data"),
    spec,
    image: baseImage("sha256:1"),
    nodePath: "/node",
    repeatablePath: "/repeat",
    cpus: 1.5,
  };

  it("gets no network, no capability, no new privilege, no root, limits, and what is mounted read-only", () => {
    const options = containerOptions(parts);
    expect(options).toMatchObject({ User: "1000:1000", OpenStdin: true, StdinOnce: false, Tty: false });
    expect(options.HostConfig).toMatchObject({
      NetworkMode: "none",
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      ReadonlyRootfs: true,
      Memory: 320 * 2 ** 20,
      MemorySwap: 320 * 2 ** 20,
      PidsLimit: 40,
      NanoCpus: 1.5e9,
      LogConfig: { Type: "none" },
    });
    const mounts = options.HostConfig!.Mounts!;
    expect(mounts.map(({ Target }) => Target)).toEqual([
      "/usr/local/bin/node",
      "/usr/local/bin/.repeatable.cjs",
      "/repo/node_modules",
    ]);
    expect(mounts.every(({ Type, ReadOnly }) => Type === "bind" && ReadOnly)).toBe(true);
    expect(JSON.stringify(options)).not.toContain("docker.sock");
    expect(options.HostConfig!.Tmpfs!["/repo"]).toContain("size=64m,");
    // Files in memory and half of the memory: what is left is process 1's, whatever a command fills.
    expect(options.HostConfig!.Tmpfs!["/tmp"]).toContain("size=64m,");
    expect(
      containerOptions({ ...parts, spec: { ...spec, limits: { ...spec.limits, memoryMb: 50 } } }).HostConfig!
        .Tmpfs!["/tmp"],
    ).toContain("size=25m,");
  });

  it("of an image with a tree of its own writes into its layer, as the tree's owner, with the image's PATH", () => {
    const image = {
      id: "sha256:2",
      ownTree: true,
      user: "0:0",
      env: { PATH: "/opt/bin", LANG: "de" },
      quota: true,
      volumes: [],
    };
    const own = { ...spec, image: { reference: "sha256:2", workdir: "/testbed" } };
    const options = containerOptions({ ...parts, spec: own, image });
    expect(options).toMatchObject({ User: "0:0", WorkingDir: "/testbed" });
    expect(options.HostConfig).toMatchObject({
      CapDrop: ["ALL"],
      ReadonlyRootfs: false,
      Tmpfs: {},
      StorageOpt: { size: "64M" },
      Memory: 256 * 2 ** 20,
    });
    expect(environmentOf(own, image)).toMatchObject({ PATH: "/opt/bin", LANG: "C.UTF-8", A: "1" });
    expect(environmentOf({ ...own, env: { PATH: "/mine" } }, image)).toMatchObject({ PATH: "/mine" });
  });

  it("carries its identity in its labels", () => {
    expect(identityOf(labelsOf(identity, "data"))).toEqual(identity);
    expect(identityOf({})).toBeUndefined();
    expect(identityOf({ ...labelsOf(identity, "data"), "tadpole.deadline": "soon" })).toBeUndefined();
  });
});

describe("an archive", () => {
  it("is unpacked by tar into the files it was made of", () => {
    const name = fc.stringMatching(/^[a-zA-Zäé '"$\\-]{1,60}$/u).filter((text) => text.trim() !== "");
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
    const entry: fc.Arbitrary<TarEntry> = fc.oneof(
      fc.record({
        type: fc.constant("file" as const),
        path,
        content: fc.uint8Array({ maxLength: 1500 }),
        executable: fc.boolean(),
      }),
      fc.record({
        type: fc.constant("symlink" as const),
        path,
        target: fc.stringMatching(/^[a-z/.]{1,150}$/),
      }),
      fc.record({ type: fc.constant("directory" as const), path }),
    );
    const entries = fc.uniqueArray(entry, { selector: ({ path }) => path.split("/")[0], maxLength: 6 });
    fc.assert(
      fc.property(entries, (files) => {
        const target = mkdtempSync(join(folder, "tar-"));
        const archive = Buffer.concat([...tar(files)]);
        expect([...untar(archive)].map(({ path, type }) => ({ path, type }))).toEqual(
          files.map(({ path, type }) => ({ path, type })),
        );
        execFileSync("tar", ["-xmof", "-", "-C", target], { input: archive });
        for (const file of files) {
          const host = join(target, file.path);
          if (file.type === "symlink") expect(readlinkSync(host)).toBe(file.target);
          else if (file.type === "directory") expect(lstatSync(host).isDirectory()).toBe(true);
          else {
            expect(readFileSync(host).equals(Buffer.from(file.content))).toBe(true);
            expect(lstatSync(host).mode & 0o111).toBe(file.executable ? 0o111 : 0);
          }
        }
      }),
      { numRuns: 15 },
    );
  });
});

describe("a scan", () => {
  const record = (path: string, times: string, type = "f", bytes = 3, mode = "644", target = "") =>
    Buffer.from([type, mode, bytes, `1 ${times} ${times}`, times, path, target, ""].join("\0"));
  const hash = (letter: string) => letter.repeat(64);

  it("reads what find prints; names that are not UTF-8 and mount points are left out", () => {
    const output = Buffer.concat([
      record("a\nb", "10.5"),
      record("l", "11", "l", 1, "777", "../x"),
      Buffer.from(record("bad\u0001", "12").toString("latin1").replace("\u0001", "\xff"), "latin1"),
      record("skipped", "13"),
      record("run", "14", "f", 0, "755"),
    ]);
    expect(parseFound(output, new Set(["skipped"]))).toMatchObject([
      { path: "a\nb", type: "file", executable: false, bytes: 3, changedMs: 10_500 },
      { path: "l", type: "symlink", target: "../x" },
      { path: "run", executable: true, bytes: 0 },
    ]);
  });

  /** A tree played by the test: what `find` prints, and the contents' hashes. */
  function played(find: () => Buffer, hashes: Record<string, string>) {
    const hashed: string[][] = [];
    const shell = async (
      _: string,
      __: readonly string[],
      options?: { readonly input?: readonly Uint8Array[] },
    ) => {
      const done = (stdout: Buffer): ShellResult => ({ code: 0, stdout, stderr: "", truncated: false });
      if (options?.input === undefined) return done(find());
      const paths = Buffer.from(options.input[0]!).toString().split("\0").slice(0, -1);
      hashed.push(paths);
      return done(Buffer.from(paths.map((path) => `${hashes[path.slice(2)]}  ${path}\0`).join("")));
    };
    return { scanner: new BoxScanner({ shell, skip: new Set(), maxBytes: 1e6 }), hashed };
  }

  it("hashes only what moved, and what changed too shortly before the next command", async () => {
    let tree = Buffer.concat([record("old", "100"), record("young", "199.99")]);
    const hashes: Record<string, string> = { old: hash("a"), young: hash("b") };
    const { scanner, hashed } = played(() => tree, hashes);
    expect((await scanner.scan()).get("old")).toMatchObject({ sha256: hash("a") });
    await scanner.scan();
    expect(hashed).toEqual([["./old", "./young"]]);
    scanner.disturb(200_000);
    hashes.young = hash("c");
    expect((await scanner.scan()).get("young")).toMatchObject({ sha256: hash("c") });
    expect(hashed.slice(1)).toEqual([["./young"]]);
    scanner.disturb(300_000);
    tree = Buffer.concat([record("old", "301"), record("young", "199.99")]);
    await scanner.scan();
    expect(hashed.slice(2)).toEqual([["./old"]]);
  });

  it("takes a tree just made for what it was made from, and finds what differs", async () => {
    const given: Manifest = new Map([
      ["a", { type: "file", sha256: hash("a"), executable: false, bytes: 3 }],
    ]);
    const { scanner, hashed } = played(() => record("a", "100"), { a: hash("x") });
    expect(scanner.seed(record("a", "100"), given)).toEqual({ extra: [] });
    scanner.disturb(200_000);
    expect(await scanner.scan()).toEqual(given);
    expect(hashed).toEqual([]);
    for (const wrong of [record("a", "100", "f", 4), record("a", "100", "f", 3, "755"), Buffer.alloc(0)])
      expect(() => played(() => wrong, {}).scanner.seed(wrong, given)).toThrow(/"a" differs/);
    const more = Buffer.concat([record("a", "100"), record("b", "100")]);
    expect(played(() => more, {}).scanner.seed(more, given)).toEqual({ extra: ["b"] });
  });
});

describe("a semaphore", () => {
  it("lets so many in at a time, in order, also after failures", async () => {
    const semaphore = new Semaphore(2);
    let inside = 0;
    let most = 0;
    const order: number[] = [];
    const results = await Promise.allSettled(
      [0, 1, 2, 3, 4].map((turn) =>
        semaphore.run(async () => {
          order.push(turn);
          most = Math.max(most, ++inside);
          await new Promise((resolve) => setImmediate(resolve));
          inside--;
          if (turn % 2 === 0) throw new Error("failed");
        }),
      ),
    );
    expect(results.map(({ status }) => status === "fulfilled")).toEqual([false, true, false, true, false]);
    expect(most).toBe(2);
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });
});
