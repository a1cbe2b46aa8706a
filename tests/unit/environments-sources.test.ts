import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { explainPackage } from "../../services/environments/absent.ts";
import { EnvironmentError } from "../../services/environments/errors.ts";
import { runtimeFolder } from "../../services/environments/folders.ts";
import { isAtOrBelow, leadsTo } from "../../services/environments/paths.ts";
import {
  bareName,
  formatSource,
  nameOf,
  parseSource,
  runtimesOf,
  type Source,
} from "../../services/environments/sources.ts";

const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}[a-z0-9]$/);
const version = fc.tuple(fc.nat(99), fc.nat(99), fc.nat(99)).map((parts) => parts.join("."));
const path = fc.array(word, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));

const anySource: fc.Arbitrary<Source> = fc.oneof(
  fc.record({
    kind: fc.constant("npm" as const),
    name: fc.oneof(
      word,
      fc.tuple(word, word).map(([scope, name]) => `@${scope}/${name}`),
    ),
    version,
  }),
  fc.record({ kind: fc.constant("pypi" as const), name: word, version }),
  fc.record({
    kind: fc.constant("go" as const),
    name: fc.tuple(word, path).map(([host, rest]) => `${host}.org/${rest}`),
    version,
  }),
  fc.record({
    kind: fc.constant("git" as const),
    repository: fc.oneof(
      path,
      path.map((at) => `/${at}`),
      path.map((at) => `git@host:${at}.git`),
      path.map((at) => `https://user@host/${at}`),
    ),
    ref: fc.oneof(
      version.map((tag) => `v${tag}`),
      path,
    ),
  }),
  fc.record({
    kind: fc.constant("docker" as const),
    image: fc.oneof(
      path,
      path.map((at) => `registry:5000/${at}:tag`),
      word.map((at) => `${at}@sha256:${"0".repeat(64)}`),
    ),
  }),
);

describe("a source", () => {
  it("is read back as what it was written of, whatever it names", () => {
    fc.assert(
      fc.property(anySource, (source) => {
        expect(parseSource(formatSource(source))).toEqual(source);
      }),
    );
  });

  it("is nothing else: what has none of the forms is refused, and what is read says the text again", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc
            .tuple(fc.constantFrom("npm:", "pypi:", "go:", "git:", "docker:"), fc.string())
            .map((parts) => parts.join("")),
        ),
        (text) => {
          const source = parseSource(text);
          if (source !== undefined) expect(formatSource(source)).toBe(text);
        },
      ),
    );
    for (const text of [
      "",
      "npm:a",
      "npm:a@^1.0.0",
      "pypi:a@1.0",
      "go:a.b/c@1.0.0",
      "git:a",
      "docker:",
      "cargo:a@1.0.0",
    ])
      expect(parseSource(text), text).toBeUndefined();
    // Both would be options of git.
    expect(parseSource("git:--upload-pack=x@main")).toBeUndefined();
    expect(parseSource("git:repository@-x")).toBeUndefined();
  });

  it.each([
    ["npm:@a/b.c@1.0.0", "b.c", "b-c"],
    ["pypi:Zope.x==1.0", "Zope.x", "zope-x"],
    ["go:github.com/a/semver/v3@v3.0.0", "semver", "semver"],
    ["git:host:a/Lib.git@v1", "Lib", "lib"],
    ["git:/srv/lib/@main", "lib", "lib"],
    ["docker:registry:5000/team/app:1.0", "app", "app"],
    [`docker:app@sha256:${"0".repeat(64)}`, "app", "app"],
  ])("%s names %s, and an environment %s", (text, bare, name) => {
    const source = parseSource(text)!;
    expect(bareName(source)).toBe(bare);
    expect(nameOf(source)).toBe(name);
  });

  it("gives every environment a name that the catalogue takes", () => {
    fc.assert(
      fc.property(anySource, (source) => {
        expect(nameOf(source)).toMatch(/^[a-z0-9][a-z0-9-]*$/);
      }),
    );
  });

  it("runs in a runtime that has images, where it is one", () => {
    expect(runtimesOf({ source: "docker:app" })).toEqual(["docker"]);
    expect(runtimesOf({ source: "npm:a@1.0.0" })).toEqual(["process", "docker"]);
  });
});

describe("folders and paths", () => {
  it("keep what was prepared in one runtime from another's", () => {
    expect(runtimeFolder("/data", "process")).toBe("/data");
    expect(runtimeFolder("/data", "docker")).toBe("/data/docker");
  });

  it("tell a folder's own files from those of one that begins like it", () => {
    expect(["lib", "lib/a", "lib/a/b", "lib.js", "library/a"].map((at) => isAtOrBelow(at, "lib"))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(["lib", "lib/a.js", "lib/b.js", "li"].map(leadsTo(["lib/a.js"]))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

describe("a package that the registry has not", () => {
  it("is told in one line as a source that names nothing; other failures stay as they are", () => {
    const complaint =
      "npm view nothing versions ended with 1: npm error code E404\nnpm error 404 Not Found - GET …";
    const told = explainPackage("nothing", new EnvironmentError("install", complaint));
    expect(told).toMatchObject({
      name: "EnvironmentError",
      kind: "no-source",
      message: "npm:nothing: the registry has no package nothing",
    });
    const away = new EnvironmentError("install", "npm view nothing versions ended with 1: ENOTFOUND");
    expect(explainPackage("nothing", away)).toBe(away);
  });
});
