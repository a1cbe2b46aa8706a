/** task.toml in its spellings (schema 1.0 to 1.4, and `version` before that) as one form. Pure. */
import { parse, TomlError } from "smol-toml";
import { ImportError } from "../types.ts";
import { Fields } from "./fields.ts";

export const SCHEMA_VERSIONS = ["1.0", "1.1", "1.2", "1.3", "1.4"] as const;

/** Harbor's own default. */
const VERIFIER_SECONDS = 600;
const COLLECT_SECONDS = 60;

export interface CollectHook {
  readonly command: string;
  readonly timeoutSeconds: number;
}

export interface Artifact {
  /** Path in the box. */
  readonly source: string;
  readonly destination: string | null;
  readonly exclude: readonly string[];
}

export interface BoxConfig {
  readonly dockerImage: string | null;
  readonly workdir: string | null;
  readonly cpus: number | null;
  readonly memoryMb: number | null;
  readonly storageMb: number | null;
  readonly env: Readonly<Record<string, string>>;
  readonly network: "none" | "public" | { readonly hosts: readonly string[] };
  /** Whether the file says anything of a network; Harbor gives one where it does not. */
  readonly saysNetwork: boolean;
  readonly buildSeconds: number | null;
  readonly healthcheck: boolean;
  readonly skills: boolean;
}

export interface HarborConfig {
  readonly schemaVersion: (typeof SCHEMA_VERSIONS)[number];
  /** `[task].name`, as `org/name`. */
  readonly name: string | null;
  readonly metadata: Fields;
  readonly environment: BoxConfig;
  readonly agent: { readonly timeoutSeconds: number | null; readonly user: string | null };
  readonly verifier: {
    readonly timeoutSeconds: number;
    readonly env: Readonly<Record<string, string>>;
    readonly mode: "shared" | "separate";
    /** null = none is given: a separate one is as the environment. */
    readonly environment: BoxConfig | null;
    readonly user: string | null;
    readonly collect: readonly CollectHook[];
  };
  readonly solutionEnv: Readonly<Record<string, string>>;
  readonly artifacts: readonly Artifact[];
  /** Fields that no schema version knows, with their paths. */
  readonly unknown: readonly string[];
}

const KNOWN: Readonly<Record<string, readonly string[]>> = {
  "": [
    "version",
    "schema_version",
    "task",
    "metadata",
    "verifier",
    "agent",
    "environment",
    "solution",
    "source",
    "multi_step_reward_strategy",
    "steps",
    "artifacts",
  ],
  agent: ["timeout_sec", "user", "network_mode", "allowed_hosts"],
  solution: ["env"],
  verifier: [
    "timeout_sec",
    "env",
    "user",
    "environment_mode",
    "environment",
    "collect",
    "network_mode",
    "allowed_hosts",
  ],
  environment: [
    "build_timeout_sec",
    "docker_image",
    "os",
    "cpus",
    "memory_mb",
    "storage_mb",
    "memory",
    "storage",
    "gpus",
    "gpu_types",
    "tpu",
    "mcp_servers",
    "env",
    "skills_dir",
    "healthcheck",
    "workdir",
    "allow_internet",
    "network_mode",
    "allowed_hosts",
  ],
};

/** Throws ImportError: `field` with the field's dotted path, `unsupported` for what is refused by name, `row` for what is no TOML. */
export function readConfig(text: string, file: string): HarborConfig {
  const root = new Fields(file, parseToml(text, file));
  if (root.items("steps").length > 0)
    root.fail("steps", "a task of one step ([[steps]] is not supported)", "unsupported");
  const environment = root.section("environment");
  const agent = root.section("agent");
  const verifier = root.section("verifier");
  networkOf(verifier);
  return {
    schemaVersion: schemaVersion(root),
    name: taskName(root.section("task")),
    metadata: root.section("metadata"),
    environment: readEnvironment(environment, agent),
    agent: { timeoutSeconds: agent.positive("timeout_sec"), user: userOf(agent) },
    verifier: {
      timeoutSeconds: verifier.positive("timeout_sec") ?? VERIFIER_SECONDS,
      env: verifier.variables("env"),
      mode: verifierMode(verifier),
      environment: verifierEnvironment(verifier),
      user: userOf(verifier),
      collect: verifier.items("collect").map((item) => readHook(verifier.entry(item))),
    },
    solutionEnv: root.section("solution").variables("env"),
    artifacts: root.items("artifacts").map((item) => readArtifact(root, item)),
    unknown: Object.entries(KNOWN).flatMap(([path, known]) => {
      const table = path === "" ? root : root.section(path);
      return table
        .names()
        .filter((name) => !known.includes(name))
        .map((name) => table.at(name));
    }),
  };
}

function parseToml(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = error.message.split("\n")[0]!.replace(/^Invalid TOML document: /, "");
    throw new ImportError("row", { file, line: error.line }, "TOML", reason, { cause: error });
  }
}

function schemaVersion(root: Fields): HarborConfig["schemaVersion"] {
  const name = root.has("schema_version") ? "schema_version" : "version";
  return root.oneOf(name, SCHEMA_VERSIONS) ?? "1.4";
}

function taskName(task: Fields): string | null {
  const name = task.string("name");
  if (name === null) return null;
  if (!/^[A-Za-z0-9_-][\w.-]*\/[A-Za-z0-9_-][\w.-]*$/.test(name) || name.includes(".."))
    task.fail("name", "org/name of letters, digits, hyphens, underscores and dots");
  return name;
}

function userOf(table: Fields): string | null {
  return typeof table.get("user") === "number" ? String(table.count("user", 0)) : table.string("user");
}

function readEnvironment(environment: Fields, agent: Fields): BoxConfig {
  const os = environment.string("os")?.toLowerCase() ?? "linux";
  if (os !== "linux") environment.fail("os", '"linux" (no other system is supported)', "unsupported");
  if ((environment.count("gpus", 0) ?? 0) > 0 || environment.has("tpu"))
    environment.fail(
      environment.has("tpu") ? "tpu" : "gpus",
      "no accelerator (none is supported)",
      "unsupported",
    );
  if (environment.items("mcp_servers").length > 0)
    environment.fail("mcp_servers", "no MCP server (none is supported)", "unsupported");
  const workdir = environment.string("workdir");
  if (workdir !== null && !/^\/(?!$)/.test(workdir))
    environment.fail("workdir", "an absolute path other than /");
  return {
    dockerImage: environment.string("docker_image"),
    workdir,
    cpus: environment.positive("cpus"),
    memoryMb: megabytes(environment, "memory"),
    storageMb: megabytes(environment, "storage"),
    env: environment.variables("env"),
    network: networkOf(agent) ?? networkOf(environment) ?? legacyNetwork(environment),
    saysNetwork:
      agent.has("network_mode") || environment.has("network_mode") || environment.has("allow_internet"),
    buildSeconds: environment.positive("build_timeout_sec"),
    healthcheck: environment.has("healthcheck"),
    skills: environment.has("skills_dir"),
  };
}

/** `memory_mb = 4096`, or the older `memory = "4G"`; both only where they say the same. */
function megabytes(environment: Fields, name: "memory" | "storage"): number | null {
  const exact = environment.count(`${name}_mb`, 1);
  const text = environment.string(name);
  if (text === null) return exact;
  const found = /^\s*(\d+(?:\.\d+)?)\s*([GMK])\s*$/i.exec(text);
  if (!found) return environment.fail(name, 'a size like "4G", "512M" or "1024K"');
  const factor = { G: 1024, M: 1, K: 1 / 1024 }[found[2]!.toUpperCase() as "G" | "M" | "K"];
  const size = Math.floor(Number(found[1]) * factor);
  if (size < 1) environment.fail(name, "at least one megabyte");
  if (exact !== null && exact !== size)
    environment.fail(name, `the same size as ${environment.at(`${name}_mb`)} = ${exact}`);
  return size;
}

function networkOf(table: Fields): BoxConfig["network"] | null {
  const mode = table.oneOf("network_mode", ["public", "no-network", "allowlist"]);
  const hosts = table.strings("allowed_hosts");
  if (hosts !== null && hosts.length > 0 && mode !== "allowlist")
    table.fail("allowed_hosts", `none, or ${table.at("network_mode")} = "allowlist"`);
  if (mode === null) return null;
  if (mode === "allowlist") return { hosts: hosts ?? [] };
  return mode === "public" ? "public" : "none";
}

function legacyNetwork(environment: Fields): "none" | "public" {
  return environment.boolean("allow_internet") === false ? "none" : "public";
}

function verifierMode(verifier: Fields): "shared" | "separate" {
  const mode = verifier.oneOf("environment_mode", ["shared", "separate"]);
  if (mode === "shared" && verifier.has("environment"))
    verifier.fail("environment_mode", '"separate" beside [verifier.environment]');
  return mode ?? (verifier.has("environment") ? "separate" : "shared");
}

function verifierEnvironment(verifier: Fields): BoxConfig | null {
  if (!verifier.has("environment")) return null;
  const own = verifier.section("environment");
  return readEnvironment(own, own);
}

function readHook(hook: Fields): CollectHook {
  const command = hook.string("command");
  if (command === null || command === "") return hook.fail("command", "a shell command");
  mainService(hook);
  return { command, timeoutSeconds: hook.positive("timeout_sec") ?? COLLECT_SECONDS };
}

function mainService(table: Fields): void {
  const service = table.string("service");
  if (service !== null && service !== "main")
    table.fail("service", '"main" (no other service is supported)', "unsupported");
}

function readArtifact(root: Fields, item: { readonly value: unknown; readonly at: string }): Artifact {
  const table = root.entry(
    typeof item.value === "string" ? { value: { source: item.value }, at: item.at } : item,
  );
  const source = table.string("source");
  const destination = table.string("destination") || null;
  if (source === null || source === "") return table.fail("source", "a path in the box");
  if (parts(source).includes("..")) table.fail("source", "a path without ..");
  if (destination !== null) checkDestination(table, destination);
  mainService(table);
  return { source, destination, exclude: table.strings("exclude") ?? [] };
}

function checkDestination(table: Fields, destination: string): void {
  if (destination.startsWith("/") || destination.includes("\\"))
    table.fail("destination", "a relative path with forward slashes");
  if (parts(destination).includes("..")) table.fail("destination", "a path without ..");
  if (parts(destination).every((part) => part === "" || part === "."))
    table.fail("destination", "the name of a file or folder");
  if (destination.replace(/\/+$/, "") === "manifest.json")
    table.fail("destination", "another name than manifest.json, which is reserved");
}

const parts = (path: string): string[] => path.split("/");
