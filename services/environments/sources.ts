/** Where environments come from: the forms of `source`, and what each may be tested by. */
import { resolve } from "node:path";
import { SANDBOX_RUNTIMES, type SandboxRuntimeName } from "../../core/experiment.ts";
import { isImageReference } from "../../core/images.ts";
import { EnvironmentError } from "./errors.ts";
import type { CatalogueEntry } from "./types.ts";

export interface RegistrySource {
  readonly kind: "npm" | "pypi" | "go";
  /** The registry's name of it. */
  readonly name: string;
  /** Exact, without Go's `v`. */
  readonly version: string;
}

export interface GitSource {
  readonly kind: "git";
  /** Path or URL. */
  readonly repository: string;
  /** Branch, tag or commit. */
  readonly ref: string;
}

export interface DockerSource {
  readonly kind: "docker";
  /** A reference as the daemon takes it. */
  readonly image: string;
}

export type Source = RegistrySource | GitSource | DockerSource;
export type SourceKind = Source["kind"];

export const SOURCE_HINT =
  "expected npm:<package>@<exact version>, pypi:<project>==<version>, go:<module>@v<version>, git:<path or URL>@<ref> or docker:<image>";

/** One expression for each registry; groups: name, version. */
const REGISTRIES = {
  npm: /^npm:((?:@[a-z0-9._-]+\/)?[a-z0-9._-]+)@(\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?)$/i,
  pypi: /^pypi:([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)==([a-z0-9][a-z0-9.!+_-]*)$/i,
  go: /^go:([a-z0-9.-]+\.[a-z]+(?:\/[\w.~-]+)*)@v(\d+\.\d+\.\d+(?:[-+][0-9a-z.+-]+)?)$/i,
} as const;

/** The last `@` separates, because URLs have others before the host. */
const GIT = /^git:(.+)@([^@:\s]+)$/;

const DOCKER = /^docker:(.+)$/;

/** What a source names; undefined where it has none of the forms. */
export function parseSource(text: string): Source | undefined {
  for (const kind of ["npm", "pypi", "go"] as const) {
    const [, name, version] = REGISTRIES[kind].exec(text) ?? [];
    if (name !== undefined && version !== undefined) return { kind, name, version };
  }
  const [, repository, ref] = GIT.exec(text) ?? [];
  if (repository !== undefined && ref !== undefined) {
    // Both become arguments of git.
    return repository.startsWith("-") || ref.startsWith("-") ? undefined : { kind: "git", repository, ref };
  }
  const [, image] = DOCKER.exec(text) ?? [];
  return image !== undefined && isImageReference(image) ? { kind: "docker", image } : undefined;
}

/** Inverse of `parseSource`. */
export function formatSource(source: Source): string {
  switch (source.kind) {
    case "npm":
      return `npm:${source.name}@${source.version}`;
    case "pypi":
      return `pypi:${source.name}==${source.version}`;
    case "go":
      return `go:${source.name}@v${source.version}`;
    case "git":
      return `git:${source.repository}@${source.ref}`;
    case "docker":
      return `docker:${source.image}`;
  }
}

/** Throws `EnvironmentError("unknown")` where the text has none of the forms. */
export function sourceOf({ source }: Pick<CatalogueEntry, "source">): Source {
  const parsed = parseSource(source);
  if (parsed === undefined)
    throw new EnvironmentError("unknown", `${JSON.stringify(source)}: ${SOURCE_HINT}`);
  return parsed;
}

/** The last part of what a source names, without version, tag or `.git`: how its archives and folders are called. */
export function bareName(source: Source): string {
  const last = (path: string, separator: RegExp) => path.replace(/\/+$/, "").split(separator).at(-1)!;
  switch (source.kind) {
    case "npm":
    case "pypi":
      return last(source.name, /\//);
    case "go":
      // From its second major version on a module's path ends with it.
      return last(source.name.replace(/\/v\d+$/, ""), /\//);
    case "git":
      return last(source.repository, /[/:]/).replace(/\.git$/, "");
    case "docker":
      return last(source.image.replace(/@.*$/, ""), /\//).replace(/:.*$/, "");
  }
}

/** An environment's name, where none is given: `npm:@a/b-c@1.0.0` becomes `b-c`. */
export function nameOf(source: Source): string {
  const name = bareName(source)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return name || "environment";
}

const NODE = ["tape", "node-test", "mocha", "jest", "vitest", "command"] as const;
const PYTHON = ["pytest", "unittest", "command"] as const;

/** What each kind of source may be tested by; an image brings its own tools. */
export const FRAMEWORKS_OF: Record<SourceKind, readonly CatalogueEntry["framework"][]> = {
  npm: NODE,
  pypi: PYTHON,
  go: ["go-test", "command"],
  git: [...NODE, "pytest", "unittest", "go-test"],
  docker: ["command"],
};

/** Whether the tree was a repository's, so that its sandbox has a history: of one commit. */
export function hasHistory(entry: Pick<CatalogueEntry, "source">): boolean {
  const { kind } = sourceOf(entry);
  return kind === "git" || kind === "docker";
}

/** The runtimes an entry's tests can run in: an image needs one that has images. */
export function runtimesOf(entry: Pick<CatalogueEntry, "source">): readonly SandboxRuntimeName[] {
  return sourceOf(entry).kind === "docker" ? ["docker"] : SANDBOX_RUNTIMES;
}

/** The source as it reads from any folder: git runs in another one than the caller, and pins outlive it. */
export function fromAnywhere(source: string): string {
  const parsed = parseSource(source);
  if (parsed?.kind !== "git" || !/^\.{0,2}\//.test(parsed.repository)) return source;
  return `git:${resolve(parsed.repository)}@${parsed.ref}`;
}
