/**
 * Checks the import arrows (`.dependency-cruiser.cjs`): `node infra/arrows.ts`. A checker that looks at nothing finds nothing,
 * so every TypeScript file of the checked folders has to be among the modules it saw.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { packageRoot } from "./stack/paths.ts";

const folders = [
  "core",
  "workflows",
  "activities",
  "services",
  "workers",
  "infra",
  "apps",
  "attacks",
  "chaos",
];

/** As dependency-cruiser's JSON report has it, as far as it is read here. */
interface Report {
  readonly modules: readonly { readonly source: string }[];
  readonly summary: {
    readonly violations: readonly {
      readonly rule: { readonly name: string };
      readonly comment?: string;
      readonly from: string;
      readonly to: string;
    }[];
  };
}

export interface ArrowsResult {
  /** Files that were looked at. */
  readonly files: number;
  /** One line per wrong import or unseen file; empty when all is well. */
  readonly problems: readonly string[];
}

export async function checkArrows(root = packageRoot): Promise<ArrowsResult> {
  const checked = folders.filter((folder) => existsSync(join(root, folder)));
  const expected = checked.flatMap((folder) => sources(root, folder));
  const report = await cruise(root, checked, expected.length);
  const seen = new Set(report.modules.map(({ source }) => source));
  const unseen = expected.filter((file) => !seen.has(file));
  const problems = [
    ...report.summary.violations.map(({ rule, from, to }) => `${from} → ${to} (${rule.name})`),
    ...unseen.map((file) => `${file} was not looked at`),
  ];
  if (expected.length === 0) problems.push(`no TypeScript file in ${folders.join(", ")}`);
  return { files: expected.length, problems };
}

function sources(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.includes("node_modules/"))
    .map((file) => `${folder}/${file}`);
}

async function cruise(root: string, checked: readonly string[], expected: number): Promise<Report> {
  if (expected === 0) return { modules: [], summary: { violations: [] } };
  const program = join(packageRoot, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs");
  const config = join(packageRoot, ".dependency-cruiser.cjs");
  const args = [program, "--config", config, "--output-type", "json", ...checked];
  // The report is some megabytes; a violation is told by the report, not by the exit code.
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, maxBuffer: 2 ** 28 });
  return JSON.parse(stdout) as Report;
}

if (import.meta.main) {
  const { files, problems } = await checkArrows();
  for (const problem of problems) console.error(`✗ ${problem}`);
  console.log(`import arrows: ${files} files, ${problems.length} problems`);
  if (problems.length > 0) process.exitCode = 1;
}
