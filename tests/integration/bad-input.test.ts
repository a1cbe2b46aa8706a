import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packageRoot } from "../../infra/stack/index.ts";
import { type Cli, openCli } from "../support/cli.ts";

const good = readFileSync(join(packageRoot, "tests/support/smallest.yaml"), "utf8");
let cli: Cli;
/** Answers chat as any OpenAI-compatible server does, but never with token ids. */
let plain: Server;
let plainUrl: string;

beforeAll(async () => {
  cli = openCli();
  plain = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      if (request.url?.endsWith("/models"))
        return response.end(JSON.stringify({ object: "list", data: [{ id: "m" }] }));
      response.end(
        JSON.stringify({
          id: "c",
          object: "text_completion",
          created: 0,
          model: "m",
          choices: [{ index: 0, text: "hello", finish_reason: "stop", logprobs: null }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
  plainUrl = `http://127.0.0.1:${(plain.address() as AddressInfo).port}`;
});

afterAll(async () => {
  plain.close();
  await cli.close();
});

/** One clear line that names all of `parts`, exit code 2, and a data folder as empty as before. */
async function refused(
  args: readonly string[],
  parts: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const { code, stderr, stdout } = await cli.run(args, env);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  for (const part of parts) expect(stderr).toContain(part);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(existsSync(join(cli.dataFolder, "stack.json"))).toBe(false);
}

function file(name: string, text: string): string {
  const path = join(cli.dataFolder, "..", `${cli.dataFolder.split("/").at(-1)}-${name}`);
  writeFileSync(path, text);
  return path;
}

describe("bad input is refused with one clear line, exit 2, and nothing changed", () => {
  const settings: readonly [string, (text: string) => string, readonly string[]][] = [
    [
      "an unknown key",
      (text) => text.replace("tasksPerBatch", "tasksPerBach"),
      ["climb.tasksPerBach", "tasksPerBatch"],
    ],
    ["a wrong type", (text) => text.replace("updates: 3", "updates: many"), ["climb.updates", "many"]],
    [
      "an empty batch",
      (text) => text.replace("tasksPerBatch: 2", "tasksPerBatch: 0"),
      ["climb.tasksPerBatch", "0"],
    ],
    [
      "a band outside of [0, 1]",
      (text) => text.replace("high: 0.99", "high: 1.5"),
      ["filter.band.high", "1.5"],
    ],
    ["a negative lag", (text) => text.replace("maxLag: 0", "maxLag: -1"), ["climb.maxLag", "-1"]],
    ["a YAML syntax error", (text) => `${text}\n  - : [`, ["expected"]],
    [
      "an unknown package",
      (text) => text.replace("train: [minimist, text-table]", "train: [left-pad]"),
      ["environments.train", "left-pad", "minimist"],
    ],
    [
      "a package of pretraining",
      (text) => text.replace("environments: [binary-search-bounds]", "environments: [camelize]"),
      ["evaluation.sets.heldout.environments", "camelize"],
    ],
    [
      "a policy without a trainer",
      (text) => text.replace("kind: nano", "kind: openai, model: m"),
      ["policy.kind", "openai"],
    ],
  ];
  it.each(settings)("%s", async (_what, change, parts) => {
    const path = file("settings.yaml", change(good));
    await refused(["run", path], [path, ...parts]);
  });

  it("a missing file", () => refused(["run", "/nowhere/x.yaml"], ["/nowhere/x.yaml", "quickstart"]));

  it("a bad override", () =>
    refused(["run", "quickstart", "--set", "climb.update=3"], ["climb.update", "updates"]));

  it.each(["", "../x", "a\nb", "a/b", `${"x".repeat(101)}`])("a name that is none: %j", (name) =>
    refused(["run", "quickstart", "--name", name], ["--name", "letters"]),
  );

  it("a bad flag", () => refused(["run", "quickstart", "--sed", "3"], ["--sed"]));

  it("a policy server that returns no token ids", () =>
    refused(
      ["run", file("plain.yaml", good), "--set", `policy.baseUrl=${plainUrl}`],
      [plainUrl, "token ids"],
    ));

  it("a Temporal address that does not answer", () =>
    refused(["run", file("temporal.yaml", good)], ["127.0.0.1:9", "Temporal"], {
      TEMPORAL_ADDRESS: "127.0.0.1:9",
    }));

  it("a port given by hand that is occupied", () =>
    refused(["up"], [plainUrl.split(":").at(-1)!], { TADPOLE_POLICY_PORT: plainUrl.split(":").at(-1)! }));

  it("a data folder that cannot be written", () =>
    refused(["up"], ["/proc/tadpole"], { TADPOLE_DATA: "/proc/tadpole" }));

  it("a data folder of a newer version", async () => {
    const folder = join(cli.dataFolder, "newer");
    mkdirSync(folder);
    writeFileSync(join(folder, "version.json"), JSON.stringify({ version: 999 }));
    await refused(["up"], ["version.json", "999"], { TADPOLE_DATA: folder });
    expect(readdirSync(folder)).toEqual(["version.json"]);
  });
});
