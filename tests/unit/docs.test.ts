/** The documents: their links lead somewhere, and the commands and settings they name exist. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { experimentJsonSchema } from "../../core/schemas/index.ts";

const root = resolve(import.meta.dirname, "../..");
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(root, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];
const read = (page: string) => readFileSync(join(root, page), "utf8");

/** Text outside of fenced blocks: what stands in a block is no link and no heading. */
const prose = (text: string) => text.replace(/^(`{3,})[^\n]*\n[\s\S]*?^\1$/gm, "");

/** Targets of links and images; a link in code is none. */
function linksOf(text: string): string[] {
  const rendered = prose(text).replace(/`[^`\n]*`/g, (code) => code.replace(/[[\]()]/g, ""));
  return [...rendered.matchAll(/\]\(([^()\s]+)\)/g)].map((match) => match[1]!);
}

/** Anchors of a page's headings, as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of prose(text).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const name = heading!
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
      .replace(/ /g, "-");
    let anchor = name;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${name}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** What is wrong with a link; null when it leads somewhere. Links to other hosts are not followed. */
function problemOf(page: string, link: string): string | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return null;
  const [path = "", anchor] = link.split("#");
  const file = path === "" ? join(root, page) : resolve(root, dirname(page), path);
  if (relative(root, file).startsWith("..")) return "leaves the project";
  if (!existsSync(file)) return "no such file";
  if (anchor === undefined) return null;
  return anchorsOf(readFileSync(file, "utf8")).has(anchor) ? null : "no such heading";
}

/** `tadpole <command>` and `tadpole <command> <subcommand>`, wherever code says it. */
function commandsOf(text: string): string[] {
  const code = [
    ...[...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!),
    ...[...prose(text).matchAll(/`([^`\n]+)`/g)].map((match) => match[1]!),
  ];
  return code.flatMap((piece) =>
    [...piece.matchAll(/(?:^|\s)tadpole +([a-z]+(?: +[a-z]+\b)?)/g)].map((match) => match[1]!),
  );
}

describe("links", () => {
  it.each(pages)("of %s lead to a file and a heading", (page) => {
    const broken = linksOf(read(page)).flatMap((link) => {
      const problem = problemOf(page, link);
      return problem === null ? [] : [`${link}: ${problem}`];
    });
    expect(broken).toEqual([]);
  });

  it("are checked at all: a broken one of each kind is found", () => {
    const text = "[a](gone.md) ![b](docs/gone.svg) `[no](link.md)`\n\n```\n[no](link.md)\n```\n[c](#gone)";
    expect(linksOf(text)).toEqual(["gone.md", "docs/gone.svg", "#gone"]);
    expect(problemOf("README.md", "gone.md")).toBe("no such file");
    expect(problemOf("README.md", "#gone")).toBe("no such heading");
    expect(problemOf("docs/method.md", "../../gone.md")).toBe("leaves the project");
    expect(problemOf("README.md", "https://example.org/gone")).toBeNull();
  });

  it("reach every page of docs/ from its index", () => {
    const listed = new Set(linksOf(read("docs/README.md")));
    const missing = pages.filter(
      (page) => page.startsWith("docs/") && page !== "docs/README.md" && !listed.has(page.slice(5)),
    );
    expect(missing).toEqual([]);
  });
});

it("anchors are made of headings as GitHub makes them", () => {
  const text = "# A\n## What `x` is not, yet?\n## [b](c.md) – d\n## A\n```\n# no heading\n```\n";
  expect([...anchorsOf(text)]).toEqual(["a", "what-x-is-not-yet", "b--d", "a-1"]);
});

describe("commands", () => {
  const folder = join(root, "apps/cli/commands");
  /** A command and the files beside `commands/` that it is continued in. */
  const sourceOf = (command: string) => {
    const file = join(folder, `${command}.ts`);
    if (!existsSync(file)) return null;
    const more = readdirSync(join(folder, "..")).filter((name) => name.startsWith(`${command}-`));
    return [file, ...more.map((name) => join(folder, "..", name))]
      .map((path) => readFileSync(path, "utf8"))
      .join("\n");
  };

  it("that the README names exist", () => {
    const named = commandsOf(read("README.md"));
    expect(named).toContain("run quickstart");
    const unknown = named.filter((words) => sourceOf(words.split(/ +/)[0]!) === null);
    expect(unknown).toEqual([]);
  });

  it("that have subcommands are named with one that exists", () => {
    const wrong = commandsOf(read("README.md")).filter((words) => {
      const [command = "", second] = words.split(/ +/);
      const subcommands = [...(sourceOf(command) ?? "").matchAll(/(?:\.command\(|\bname: )"([a-z]+)"/g)]
        .map((match) => match[1]!)
        .filter((name) => name !== command);
      return subcommands.length > 0 && !subcommands.includes(second ?? "");
    });
    expect(wrong).toEqual([]);
  });

  it("of the command line are all in the README", () => {
    const named = new Set(commandsOf(read("README.md")).map((words) => words.split(/ +/)[0]!));
    const missing = readdirSync(folder).map((file) => file.slice(0, -3));
    expect(missing.filter((command) => !named.has(command))).toEqual([]);
  });
});

it("npm scripts that the README and CONTRIBUTING name exist", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const named = ["README.md", "CONTRIBUTING.md"].flatMap((page) =>
    [...read(page).matchAll(/\bnpm (?:run ([a-z]+(?:[:-][a-z]+)*)|(start|test))\b/g)].map(
      (match) => match[1] ?? match[2]!,
    ),
  );
  expect(named).toContain("start");
  expect(named.filter((script) => !(script in scripts))).toEqual([]);
});

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, ObjectSchema & { readonly default?: unknown }>>;
}

describe("settings of docs/method.md", () => {
  const schema = experimentJsonSchema() as ObjectSchema;
  const at = (path: string) =>
    path.split(".").reduce<ObjectSchema | undefined>((node, field) => node?.properties?.[field], schema) as
      | { readonly default?: unknown }
      | undefined;
  const sections = Object.keys(schema.properties ?? {});
  const named = [
    ...read("docs/method.md").matchAll(/`([a-z][A-Za-z]*(?:\.[a-z][A-Za-z]*)+)`( \(([^()]+)\))?/g),
  ]
    .filter((match) => sections.includes(match[1]!.split(".")[0]!))
    .map((match) => ({ path: match[1]!, stated: match[3] }));

  it("exist in the schema", () => {
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ path }) => at(path) === undefined)).toEqual([]);
  });

  it("have the default that the page states, where that is a number or a switch", () => {
    const stated = named.filter(({ stated }) => /^([\d.,]+(e-\d+)?|true|false)$/.test(stated ?? ""));
    expect(stated.length).toBeGreaterThan(15);
    const wrong = stated.filter(
      ({ path, stated }) =>
        JSON.stringify(at(path)?.default) !== JSON.stringify(JSON.parse(stated!.replaceAll(",", ""))),
    );
    expect(wrong).toEqual([]);
  });
});
