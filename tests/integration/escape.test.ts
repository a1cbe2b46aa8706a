/** Attempts to leave the process runtime's sandbox, from commands and from file calls; what both runtimes prevent is in `attacks/`. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createProcessRuntime, type Sandbox, type SandboxRuntime } from "../../services/sandbox/index.ts";

const SECRET = "the-hidden-answer-7431";
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

let folder: string;
let runtime: SandboxRuntime;
let sandbox: Sandbox;

beforeAll(async () => {
  // Not in /tmp: the sandbox has a /tmp of its own, and a path there would be a path of its own.
  folder = mkdtempSync("/var/tmp/escape-");
  mkdirSync(join(folder, "environment"));
  mkdirSync(join(folder, "modules"));
  writeFileSync(join(folder, "environment", "index.js"), "module.exports = 1;\n");
  writeFileSync(join(folder, "modules", "dep.js"), "1;\n");
  writeFileSync(join(folder, "hidden-test.js"), SECRET, { mode: 0o644 });
  runtime = createProcessRuntime({ root: join(folder, "sandboxes"), nodePath: process.execPath });
  sandbox = await runtime.create(
    {
      root: join(folder, "environment"),
      overlay: [],
      mounts: [{ source: join(folder, "modules"), target: "/repo/node_modules" }],
      limits: { memoryMb: 256, processes: 32, diskMb: 32 },
      env: {},
    },
    { experiment: "escape", slot: "s", attempt: 1, fence: "f", deadline: Date.now() + 600_000 },
  );
});
afterAll(async () => {
  await sandbox?.destroy();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() =>
  bash("find . -mindepth 1 -maxdepth 1 ! -name node_modules ! -name index.js -exec rm -rf {} +"),
);

async function bash(script: string): Promise<{ code: number | null; out: string }> {
  const result = await sandbox.exec(["bash", "-c", script], { timeoutSeconds: 20, outputBytes: 1_000_000 });
  return { code: result.exitCode, out: text(result.stdout) + text(result.stderr) };
}

describe("from commands", () => {
  it("no file of the host is in sight", async () => {
    const paths = [
      folder,
      "/root",
      "/home",
      "/etc/shadow",
      "/etc/ssh",
      "/var",
      "/opt",
      "/srv",
      "/mnt",
      "/run",
      "/sys",
      "/boot",
    ];
    paths.push(
      process.cwd(),
      join(folder, "hidden-test.js"),
      join(folder, "sandboxes"),
      "/usr/local/lib",
      "/proc/1/root/root",
    );
    for (const path of paths) {
      const { out } = await bash(`ls -A '${path}' 2>/dev/null`);
      expect({ path, out }).toEqual({ path, out: "" });
    }
    const names = (await bash("ls /")).out.split("\n").filter(Boolean);
    expect(names.filter((name) => !/^(bin|dev|etc|lib\d*|proc|repo|sbin|tmp|usr)$/.test(name))).toEqual([]);
  });

  it("accounts and names are made up", async () => {
    expect((await bash("cat /etc/passwd | wc -l; whoami; hostname; id -u")).out).toBe(
      "2\nagent\nsandbox\n1000\n",
    );
  });

  it("the system, the modules, Node and the mount points cannot be written or removed", async () => {
    for (const path of [
      "/x",
      "/usr/x",
      "/usr/bin/x",
      "/etc/x",
      "/bin/x",
      "/dev/x",
      "/usr/local/bin/x",
      "/repo/node_modules/x",
    ])
      expect({ path, ...(await bash(`echo x > ${path}`)) }).toMatchObject({ path, code: 1 });
    const tries = [
      "rm -rf node_modules",
      "mv node_modules m",
      "rm -f /usr/local/bin/node",
      "echo x >> /usr/local/bin/node",
    ];
    tries.push(
      "chmod 777 /etc/passwd",
      "echo x >> node_modules/dep.js",
      "mount -o remount,rw /usr",
      "umount /repo/node_modules",
    );
    for (const attempt of tries)
      expect({ attempt, ok: (await bash(attempt)).code === 0 }).toEqual({ attempt, ok: false });
    expect((await bash("cat node_modules/dep.js")).out).toBe("1;\n");
  });

  it("no capability, no new user namespace, no device can be had", async () => {
    expect((await bash("grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status")).out).toMatch(
      /0{16}\n.*1\n/,
    );
    for (const attempt of [
      "unshare -Ur true",
      "unshare -m true",
      "mknod d b 8 0",
      "chroot / true",
      "mount -t tmpfs x /tmp",
    ])
      expect({ attempt, ok: (await bash(attempt)).code === 0 }).toEqual({ attempt, ok: false });
  });

  it("no process of the host is seen or can be signalled", async () => {
    const pids = (await bash("ls /proc | grep -c '^[0-9]'")).out.trim();
    expect(Number(pids)).toBeLessThan(10);
    const { out } = await bash(`kill -9 ${process.pid} ${process.ppid}; kill -9 -1; echo end`);
    expect(out).not.toContain("Operation not permitted");
    expect((await bash("cat /proc/*/cmdline | tr '\\0' ' '")).out).not.toContain("vitest");
    expect((await bash("cat /proc/1/environ /proc/self/environ | tr '\\0' '\\n'")).out).not.toMatch(
      /TADPOLE|HOST|USER=/,
    );
  });

  it("the loopback is the only network there is", async () => {
    expect((await bash("cat /proc/net/dev | tail -n +3 | cut -d: -f1")).out.trim()).toBe("lo");
  });

  it("no descriptor of the host's process is inherited", async () => {
    const { out } = await bash("for fd in /proc/self/fd/*; do echo $(basename $fd) $(readlink $fd); done");
    const inherited = out.split("\n").filter((line) => /^\d+ /.test(line) && Number.parseInt(line, 10) > 2);
    // The shell's own look at the folder comes and goes.
    expect(inherited.filter((line) => !/ (\/dev\/null|\/proc\/\d+\/fd)$/.test(line))).toEqual([]);
  });

  it("a background process neither outlives the command nor changes the tree later", async () => {
    await bash("(setsid bash -c 'sleep 0.3; echo late > late' >/dev/null 2>&1 &) ; true");
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect((await bash("ls")).out).toBe("index.js\nnode_modules\n");
  });
});

describe("from file calls", () => {
  it.each([
    ["a link to a file of the host", (secret: string) => `ln -s ${secret} way`, "way"],
    ["a link upwards", () => "ln -s ../../../../../../../../etc/shadow way", "way"],
    [
      "a linked folder",
      (secret: string) => `ln -s ${secret.replace(/\/[^/]*$/, "")} way`,
      "way/hidden-test.js",
    ],
    ["a link to the tree's parent", () => "ln -s .. way", "way/label.json"],
    ["two links", () => "ln -s /tmp way; ln -s ../owner.json /tmp/hop", "way/hop"],
    ["dots", () => "true", "../label.json"],
    ["dots below a folder", () => "mkdir d", "d/../../label.json"],
    ["an absolute path", () => "true", "/root/.bashrc"],
    ["the links of /proc", () => "ln -s /proc/self/root way", "way/../label.json"],
    ["the host's own /proc", () => "true", `/proc/${process.pid}/environ`],
  ])("nothing is read through %s", async (_, prepare, path) => {
    expect((await bash(prepare(join(folder, "hidden-test.js")))).code).toBe(0);
    await expect(sandbox.read(path)).rejects.toThrow();
    expect(await sandbox.stat(path)).toBeNull();
  });

  it("nothing is written through links, dots or mounts", async () => {
    const target = join(folder, "planted");
    await bash(`ln -s ${folder} dir; ln -s ${target} file; ln -s /usr/share usr; ln -s node_modules/new mod`);
    for (const path of [
      "dir/planted",
      "file",
      "../planted",
      "usr/x",
      "mod",
      "node_modules/x",
      "/planted",
      target,
    ])
      await sandbox.write(path, Buffer.from("x")).then(
        () => expect(path).toBe("refused"),
        (error: { code?: string }) => expect(error.code).toMatch(/^(EROFS|ENOENT)$/),
      );
    expect(existsSync(target)).toBe(false);
    // A link to /tmp leads to the sandbox's own.
    await bash("ln -s /tmp/mine tmp");
    await sandbox.write("tmp", Buffer.from("mine"));
    expect((await bash("cat /tmp/mine")).out).toBe("mine");
  });

  it("nothing is listed through links", async () => {
    await bash(`ln -s ${folder} dir; ln -s / root`);
    await expect(sandbox.list("dir")).rejects.toThrow();
    expect((await sandbox.list(".")).map((entry) => entry.path).sort()).toEqual([
      "dir",
      "index.js",
      "node_modules",
      "root",
    ]);
    expect((await sandbox.changes()).map((change) => change.kind)).toEqual(["symlink", "symlink"]);
  });

  it("a link in the place of a mount point's parent stops the next command instead of leading it out", async () => {
    const nested = await runtime.create(
      {
        root: join(folder, "environment"),
        overlay: [],
        mounts: [{ source: join(folder, "modules"), target: "/repo/a/b" }],
        limits: { memoryMb: 256, processes: 32, diskMb: 32 },
        env: {},
      },
      { experiment: "escape", slot: "nested", attempt: 1, fence: "f", deadline: Date.now() + 600_000 },
    );
    try {
      const limits = { timeoutSeconds: 10, outputBytes: 1000 };
      await nested.exec(["bash", "-c", `mv a c; ln -s /oldroot${folder} a`], limits);
      await expect(nested.exec(["true"], limits)).rejects.toMatchObject({ kind: "path" });
    } finally {
      await nested.destroy();
    }
  });
});
