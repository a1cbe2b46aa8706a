import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { installOnce, runTool } from "../../services/environments/install.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tools-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

async function pidIn(file: string): Promise<number> {
  for (;;) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (text.endsWith("\n")) return Number(text);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("a tool", () => {
  it("has ended when an abort is told, whatever it does with signals, and its half-made folder is gone", async () => {
    const controller = new AbortController();
    const pid = join(folder, "pid");
    const made = installOnce({
      dataFolder: folder,
      name: "made",
      content: "content",
      fill: async (cwd) => {
        const script =
          'trap "" TERM INT; mkdir content; echo $$ > "$1"; while :; do date > content/file; done';
        await runTool("sh", ["-c", script, "sh", pid], { cwd, signal: controller.signal });
      },
    });
    const ended = expect(made).rejects.toThrow("enough");
    const child = await pidIn(pid);
    expect(isAlive(child)).toBe(true);
    controller.abort(new Error("enough"));
    await ended;
    expect(isAlive(child)).toBe(false);
    expect(await readdir(join(folder, "environments"))).toEqual([]);
  }, 20_000);

  it("is not begun for a signal that was aborted before", async () => {
    const signal = AbortSignal.abort(new Error("too late"));
    await expect(runTool("touch", ["begun"], { cwd: folder, signal })).rejects.toThrow("too late");
    expect(await readdir(folder)).toEqual([]);
  });

  it("that is not there, and one that fails, are told by name and complaint", async () => {
    await expect(runTool("no-such-tool", [], { cwd: folder })).rejects.toThrow(
      "no-such-tool is not installed",
    );
    await expect(runTool("sh", ["-c", "echo why >&2; exit 3"], { cwd: folder })).rejects.toThrow(
      /ended with 3:\nwhy/,
    );
  });
});
