import { describe, expect, it } from "vitest";
import { baseImage, containerOptions } from "../../services/sandbox/docker/container.ts";
import { mountParents, movableMounts, movedMounts } from "../../services/sandbox/docker/mounts.ts";
import { HAND_OVER } from "../../services/sandbox/docker/program.ts";

const WRITABLE = ["/repo", "/tmp"];
const at = (...targets: string[]) => targets.map((target) => ({ source: "/source", target }));

describe("mounts of a container", () => {
  it.each([
    [["/repo/tests", "/repo/node_modules"], [], []],
    [["/opt/python/x", "/usr/local/bin/node", "/repository/a/b"], [], []],
    [
      ["/repo/src/a.test.js", "/repo/src/b.test.js"],
      ["/repo/src"],
      ["/repo/src/a.test.js", "/repo/src/b.test.js"],
    ],
    [
      ["/repo/a/b/c", "/tmp/d/e"],
      ["/repo/a", "/repo/a/b", "/tmp/d"],
      ["/repo/a/b/c", "/tmp/d/e"],
    ],
    [["/repo/node_modules/own/src", "/repo/node_modules"], [], []],
    [["/repo/src/vendor/x/y", "/repo/src/vendor"], ["/repo/src"], ["/repo/src/vendor"]],
  ])("%j need the folders %j of the sandbox's, and %j can be moved away", (targets, parents, movable) => {
    expect(mountParents(at(...targets), WRITABLE)).toEqual(parents);
    expect(movableMounts(at(...targets), WRITABLE)).toEqual(movable);
  });

  it("are looked for in the kernel's list, whatever their names hold", () => {
    const line = (point: string) => `312 307 254:0 /host/x.json ${point} ro,relatime - ext4 /dev/vda rw\n`;
    const list = (workdir: string, ...points: string[]) =>
      Buffer.from(`${workdir}\n${points.map(line).join("")}`, "utf8").toString("latin1");
    const moved = (listed: string, ...targets: string[]) => movedMounts(listed, "/repo", targets);
    // The kernel escapes blanks, tabs, newlines and backslashes, and leaves other bytes as they are.
    const odd = list("/repo", "/repo/a\\040b/c\\134d", "/repo/ä/y");
    expect(moved(odd, "/repo/a b/c\\d", "/repo/ä/y")).toEqual([]);
    expect(moved(list("/repo", "/repo/x/y"), "/repo/src/y", "/repo/x/y")).toEqual(["/repo/src/y"]);
    expect(moved("", "/repo/src/x")).toEqual(["/repo/src/x"]);
    // /repo is a link to /data/tree.
    const linked = list("/data/tree", "/data/tree/src/x", "/tmp/a/b");
    expect(moved(linked, "/repo/src/x", "/tmp/a/b")).toEqual([]);
    expect(moved(linked, "/repo/src/y")).toEqual(["/repo/src/y"]);
  });
});

describe("a container with mounts beside its own files", () => {
  const spec = {
    root: "/r",
    overlay: [],
    mounts: at("/repo/it's/x y/a.test.js"),
    limits: { memoryMb: 256, processes: 10, diskMb: 64 },
    env: {},
  };
  const options = (image = baseImage("sha256:1"), mounts = spec.mounts) =>
    containerOptions({
      name: "n",
      labels: {},
      spec: { ...spec, mounts },
      image,
      nodePath: "/node",
      repeatablePath: "/repeat",
      cpus: 1,
    });

  it("begins as root with what it takes to give folders away and to become the agent, and nothing else", () => {
    const { User, Entrypoint, Cmd, HostConfig } = options();
    expect(User).toBe("0:0");
    expect(HostConfig).toMatchObject({
      CapDrop: ["ALL"],
      CapAdd: ["CHOWN", "SETUID", "SETGID", "SETPCAP"],
      SecurityOpt: ["no-new-privileges"],
      ReadonlyRootfs: true,
    });
    const quoted = `'/repo/it'\\''s' '/repo/it'\\''s/x y'`;
    expect((Entrypoint as string[]).slice(0, 6)).toEqual([
      "/bin/sh",
      "-c",
      HAND_OVER,
      "sh",
      "1000:1000",
      quoted,
    ]);
    // What follows is what is run without it.
    const plain = options(baseImage("sha256:1"), at("/repo/tests"));
    expect((Entrypoint as string[]).slice(6)).toEqual((plain.Entrypoint as string[]).slice(2));
    expect(Cmd).toEqual(plain.Cmd);
    expect(plain.User).toBe("1000:1000");
    expect(plain.HostConfig).not.toHaveProperty("CapAdd");
  });

  it("begins as its user where the tree lies in the image, which has these folders", () => {
    const image = { ...baseImage("sha256:2"), ownTree: true, user: "1001:1002" };
    expect(options(image).User).toBe("1001:1002");
    expect(options(image).HostConfig).not.toHaveProperty("CapAdd");
  });
});
