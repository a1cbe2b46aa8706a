/** Where environments come from: the forms of `source`, and what each may be tested by. */
import { parseGitSource } from "./git.ts";
import type { CatalogueEntry } from "./types.ts";

/** One expression for each registry; groups: name, version. */
export const REGISTRIES = {
  npm: /^npm:((?:@[a-z0-9._-]+\/)?[a-z0-9._-]+)@(\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?)$/i,
  pypi: /^pypi:([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)==([a-z0-9][a-z0-9.!+_-]*)$/i,
  go: /^go:([a-z0-9.-]+\.[a-z]+(?:\/[\w.~-]+)*)@v(\d+\.\d+\.\d+(?:[-+][0-9a-z.+-]+)?)$/i,
} as const;

export const SOURCE_KINDS = ["npm", "pypi", "go", "git", "docker"] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

export const SOURCE_HINT =
  "expected npm:<package>@<exact version>, pypi:<project>==<version>, go:<module>@v<version>, git:<path or URL>@<ref> or docker:<image>";

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

export function kindOf(source: string): SourceKind {
  return source.slice(0, source.indexOf(":")) as SourceKind;
}

/** Whether the tree was a repository's, so that its sandbox has a history: of one commit. */
export function hasHistory({ source }: Pick<CatalogueEntry, "source">): boolean {
  const kind = kindOf(source);
  return kind === "git" || kind === "docker";
}

/** `docker:<image>`: a reference as the daemon takes it. */
const IMAGE = /^docker:([a-z0-9][\w./:@-]*)$/i;

export function imageOf(source: string): string | undefined {
  return IMAGE.exec(source)?.[1];
}

export function isSource(source: string): boolean {
  return (
    Object.values(REGISTRIES).some((pattern) => pattern.test(source)) ||
    parseGitSource(source) !== undefined ||
    imageOf(source) !== undefined
  );
}
