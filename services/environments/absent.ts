/** Sources that name nothing: found out beforehand, or read from what a registry's client, git or the daemon complains of. Pure. */
import { EnvironmentError } from "./errors.ts";
import { formatSource, type Source } from "./sources.ts";

/** A Go module of another major version than its path says. Throws `EnvironmentError("no-source")` with the path that would do. */
export function assertMajor(source: Source): void {
  if (source.kind !== "go") return;
  const { name, version } = source;
  const major = Number.parseInt(version, 10);
  const [suffix, separator, digits] = /(?:([/.])v(\d+))$/.exec(name) ?? ["", "/", undefined];
  // gopkg.in has the majors 0 and 1 in its paths, too.
  if (separator === ".") return;
  if (digits === undefined ? major < 2 || version.endsWith("+incompatible") : Number(digits) === major)
    return;
  const path = name.slice(0, name.length - suffix.length);
  const right = `go:${path}${major < 2 ? "" : `/v${major}`}@v${version}`;
  const without = digits === undefined ? `, or @v${version}+incompatible where it has no go.mod` : "";
  throw new EnvironmentError(
    "no-source",
    `${formatSource(source)}: from major version 2 on the path of a Go module ends in it: ${right}${without}`,
  );
}

/** What is not there and where to look, when a complaint says so; undefined for any other: the network, the disk. */
function absenceOf(source: Source, complaint: string): string | undefined {
  switch (source.kind) {
    case "npm": {
      const { name, version } = source;
      if (!complaint.includes(`${name}@${version}`)) return undefined;
      if (/code E404/.test(complaint)) return `the registry has no package ${name}`;
      if (/code ETARGET/.test(complaint))
        return `the registry has no such version; npm view ${name} versions lists those it has`;
      return undefined;
    }
    case "go":
      return /: 40[34] |: 410 |unknown revision|not found|invalid version/.test(complaint)
        ? `the proxy has no such version; go list -m -versions ${source.name} lists those it has`
        : undefined;
    case "git":
      if (/couldn't find remote ref|not our ref|unadvertised object/.test(complaint))
        return `no branch, tag or commit ${source.ref}; git ls-remote ${source.repository} lists branches and tags, a commit needs its 40 digits`;
      return /does not appear to be a git repository|repository '.*' (does not exist|not found)/.test(
        complaint,
      )
        ? `no git repository at ${source.repository}`
        : undefined;
    case "docker":
      return /no such image/i.test(complaint)
        ? "expected an image that the daemon has, found none of that name; docker pull or docker build makes one"
        : undefined;
    case "pypi":
      return undefined;
  }
}

/** The error of a source, as `no-source` where its complaint says that it names nothing. */
export function explain(source: Source, error: unknown): unknown {
  if (!(error instanceof EnvironmentError) || error.kind !== "install") return error;
  const absence = absenceOf(source, error.message);
  if (absence === undefined) return error;
  return new EnvironmentError("no-source", `${formatSource(source)}: ${absence}`, { cause: error });
}

/** The same of an npm package without a version. */
export function explainPackage(name: string, error: unknown): unknown {
  if (!(error instanceof EnvironmentError) || !/\bE404\b/.test(error.message)) return error;
  return new EnvironmentError("no-source", `npm:${name}: the registry has no package ${name}`, {
    cause: error,
  });
}
