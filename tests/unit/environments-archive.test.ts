import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readArchive } from "../../services/environments/archive.ts";
import { TAR_END, tarEntry } from "../support/tar-entry.ts";

const run = promisify(execFile);

describe("an archive of sources", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "archive-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it.each(["gnu", "ustar", "pax"])(
    "made by tar in the %s format is read whole, links as copies",
    async (format) => {
      const long = `p/${"d".repeat(60)}/${"e".repeat(90)}.py`;
      await mkdir(join(folder, long, ".."), { recursive: true });
      await writeFile(join(folder, long), "long\n");
      await writeFile(join(folder, "p/a.py"), "a\n");
      await writeFile(join(folder, "p/ü.py"), "umlaut\n");
      await symlink("a.py", join(folder, "p/link.py"));
      await symlink("nowhere", join(folder, "p/dangling.py"));
      await run("tar", [`--format=${format}`, "-czf", "x.tgz", "p"], { cwd: folder });
      const tree = readArchive("x.tgz", await readFile(join(folder, "x.tgz")));
      const texts = Object.fromEntries(
        [...tree].map(([path, content]) => [path, Buffer.from(content).toString()]),
      );
      expect(texts).toEqual({ [long]: "long\n", "p/a.py": "a\n", "p/link.py": "a\n", "p/ü.py": "umlaut\n" });
    },
  );

  it.each<[string, Buffer, RegExp]>([
    ["..", tarEntry("p/../../x", "0"), /evil\.tar: entry "p\/\.\.\/\.\.\/x": .*found \.\./],
    ["an absolute path", tarEntry("/etc/passwd", "0"), /entry "\/etc\/passwd": .*absolute/],
    [
      "a link out by ..",
      tarEntry("p/l", "2", { link: "../../x" }),
      /entry "p\/l": links to \.\.\/\.\.\/x, outside/,
    ],
    ["an absolute link", tarEntry("p/l", "2", { link: "/etc" }), /links to \/etc, outside/],
    ["a hard link out", tarEntry("p/l", "1", { link: "../x" }), /entry "\.\.\/x": .*found \.\./],
    ["a device", tarEntry("p/null", "3"), /entry "p\/null": .*device or a pipe/],
    ["a pipe", tarEntry("p/pipe", "6"), /device or a pipe/],
  ])("with %s is refused, naming archive and entry", (_what, bad, message) => {
    const archive = Buffer.concat([tarEntry("p/a.py", "0", { content: "a" }), bad, TAR_END]);
    for (const bytes of [archive, gzipSync(archive)]) {
      expect(() => readArchive("evil.tar", bytes)).toThrow(message);
      expect(() => readArchive("evil.tar", bytes)).toThrow(expect.objectContaining({ kind: "install" }));
    }
  });

  it("that is cut, damaged or no archive is refused", () => {
    const whole = Buffer.concat([tarEntry("p/a.py", "0", { content: "a".repeat(2000) }), TAR_END]);
    expect(() => readArchive("x.tar", whole.subarray(0, 900))).toThrow(
      /x\.tar: ends in the middle of "p\/a\.py"/,
    );
    expect(() => readArchive("x.tar", Buffer.from("no archive at all".repeat(60)))).toThrow(/no tar archive/);
    expect(() => readArchive("x.tgz", gzipSync(whole).subarray(0, 30))).toThrow(/x\.tgz: /);
  });

  it("that unpacks to more than half a gigabyte is refused without being unpacked", () => {
    const bomb = gzipSync(Buffer.alloc(513 * 1024 * 1024), { level: 1 });
    expect(() => readArchive("bomb.tgz", bomb)).toThrow(/bomb\.tgz: unpacks to more than 512 MB/);
  }, 30_000);
});
