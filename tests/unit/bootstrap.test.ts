/** The bootstrap's steps, each in a small world of its own: other PATHs, other folders, a download server of this test. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bubblewrapStep, packagesDifference, temporalStep } from "../../infra/bootstrap/steps.mjs";
import {
  buildTemporal,
  cachedTemporal,
  cacheFolder,
  downloadTemporal,
  findTemporal,
  goInstallCommand,
  temporalRelease,
  temporalVersion,
} from "../../infra/bootstrap/temporal.mjs";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "tadpole-bootstrap-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function program(file: string, script = "echo temporal version test"): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

const silent = () => {};
const system = "/usr/bin:/bin";

describe("finding the Temporal CLI", () => {
  const env = () => ({ PATH: `${root}/none:${root}/bin`, XDG_CACHE_HOME: join(root, "cache") });

  it("looks on PATH first, then in the cache", () => {
    expect(findTemporal(env())).toBeNull();
    program(cachedTemporal(env()));
    expect(findTemporal(env())).toEqual({ path: cachedTemporal(env()), from: "cache" });
    const onPath = program(join(root, "bin", "temporal"));
    expect(findTemporal(env())).toEqual({ path: onPath, from: "PATH" });
    chmodSync(onPath, 0o644);
    expect(findTemporal(env())?.from).toBe("cache");
  });

  it("keeps the cache in XDG_CACHE_HOME or below the home folder, a folder per version", () => {
    expect(cacheFolder({ XDG_CACHE_HOME: "/c" })).toBe("/c/tadpole");
    expect(cacheFolder({ HOME: "/home/me" })).toBe("/home/me/.cache/tadpole");
    expect(cachedTemporal({ HOME: "/home/me" })).toContain(temporalVersion);
  });

  it("asks for nothing where a server is named", async () => {
    expect(await temporalStep({ env: { TEMPORAL_ADDRESS: "host:7233" }, root, say: silent })).toContain(
      "host:7233",
    );
  });

  it("says so when the program on PATH does not run", async () => {
    program(join(root, "broken", "temporal"), "echo no such processor >&2; exit 126");
    const step = temporalStep({ env: { PATH: join(root, "broken") }, root, say: silent });
    await expect(step).rejects.toThrow(/on PATH does not run[\s\S]*no such processor[\s\S]*TEMPORAL_ADDRESS/);
  });
});

describe("downloading the Temporal CLI", () => {
  let server: Server;
  let url: string;
  let archive: Buffer;
  beforeAll(async () => {
    program(join(root, "archive", "temporal"));
    archive = execFileSync("tar", ["-czf", "-", "-C", join(root, "archive"), "temporal"]);
    server = createServer((request, reply) => {
      if (request.url === "/slow") return;
      reply.writeHead(request.url === "/temporal.tar.gz" ? 200 : 404).end(archive);
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const hash = () => createHash("sha256").update(archive).digest("hex");

  it("puts the program where it belongs when the hash is right", async () => {
    const target = join(root, "downloaded", "temporal");
    await downloadTemporal({ url: `${url}/temporal.tar.gz`, sha256: hash() }, target, 10);
    expect(execFileSync(target, { encoding: "utf8" })).toBe("temporal version test\n");
    expect(readdirSync(dirname(target))).toEqual(["temporal"]);
  });

  it.each([
    ["another hash", "/temporal.tar.gz", () => "0".repeat(64), /has sha256 [0-9a-f]{64}, expected 0{64}/],
    ["no such file", "/gone", hash, /answered 404/],
    ["no answer in time", "/slow", hash, /timeout/],
  ])("leaves nothing behind after %s", async (_, path, sha256, message) => {
    const target = join(root, "refused", "temporal");
    await expect(downloadTemporal({ url: url + path, sha256: sha256() }, target, 0.3)).rejects.toThrow(
      message,
    );
    expect(existsSync(target)).toBe(false);
  });

  it("is pinned for both kinds of processor", () => {
    for (const arch of ["x64", "arm64"]) {
      const release = temporalRelease("linux", arch)!;
      expect(release.url).toContain(`/v${temporalVersion}/temporal_cli_${temporalVersion}_linux_`);
      expect(release.sha256).toMatch(/^[0-9a-f]{64}$/);
    }
    expect(temporalRelease("linux", "mips")).toBeNull();
  });
});

describe("building the Temporal CLI", () => {
  it("has Go install the pinned version into a folder of its own", () => {
    expect(goInstallCommand("/usr/local/go/bin/go", "/cache/new")).toEqual({
      file: "/usr/local/go/bin/go",
      args: ["install", "-ldflags", "-s -w", `github.com/temporalio/cli/cmd/temporal@v${temporalVersion}`],
      env: { GOBIN: "/cache/new" },
    });
  });

  it("moves what Go built into the cache, and nothing when Go fails", async () => {
    const go = program(join(root, "go"), 'test "$1" = install && cp "$SOURCE" "$GOBIN/temporal"');
    const target = join(root, "built", "temporal");
    await expect(buildTemporal({ PATH: system, SOURCE: "/none" }, target, go)).rejects.toThrow(
      /go install[\s\S]*\/none/,
    );
    expect(readdirSync(dirname(target))).toEqual([]);
    await buildTemporal({ PATH: system, SOURCE: program(join(root, "source")) }, target, go);
    expect(readFileSync(target, "utf8")).toContain("temporal version test");
  });
});

describe("bubblewrap", () => {
  it("is shown to work, not only to be there", async () => {
    const bin = dirname(
      program(join(root, "no-bwrap", "bwrap"), "echo Creating new namespace failed >&2; exit 1"),
    );
    await expect(bubblewrapStep({ env: { PATH: `${bin}:${system}` }, root, say: silent })).rejects.toThrow(
      /cannot make a sandbox here[\s\S]*user namespaces[\s\S]*Creating new namespace failed/,
    );
  });

  it("that is missing is one message with the command to type, where installing is forbidden", async () => {
    const bin = dirname(program(join(root, "bare", "apt-get"), "exit 1"));
    const step = bubblewrapStep({ env: { PATH: bin, TADPOLE_NO_APT: "1" }, root, say: silent });
    const expected = existsSync("/etc/debian_version")
      ? /missing, and TADPOLE_NO_APT=1 forbids[\s\S]*sudo apt-get install -y bubblewrap/
      : /bubblewrap is missing/;
    await expect(step).rejects.toThrow(expected);
  });
});

describe("the npm packages", () => {
  function checkout(name: string, wanted: object, found: object | null): string {
    const folder = join(root, name);
    mkdirSync(join(folder, "node_modules"), { recursive: true });
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ packages: { "": {}, ...wanted } }));
    if (found)
      writeFileSync(join(folder, "node_modules/.package-lock.json"), JSON.stringify({ packages: found }));
    return folder;
  }
  const a = { "node_modules/a": { version: "1.0.0", integrity: "sha512-a" } };
  const other = { "node_modules/node-other": { version: "24.0.0", integrity: "sha512-o", optional: true } };

  it.each([
    ["nothing-there", a, null, "nothing is installed"],
    ["same", a, a, null],
    ["other-platform", { ...a, ...other }, a, null],
    ["older", a, { "node_modules/a": { version: "0.9.0", integrity: "sha512-a" } }, "a is not 1.0.0"],
    ["changed", a, { "node_modules/a": { version: "1.0.0", integrity: "sha512-b" } }, "a is not 1.0.0"],
    ["missing", { ...a, "node_modules/@b/c": { version: "1.0.0" } }, a, "@b/c is missing"],
    ["extra", {}, a, "a is not in the lock"],
  ])("%s", (name, wanted, found, difference) => {
    expect(packagesDifference(checkout(name, wanted, found))).toBe(difference);
  });
});
