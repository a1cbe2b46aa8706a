/** A part of the attack suite in each runtime, of every kind of deed; `npm run attacks` tries all of it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ATTACKS } from "../../attacks/list/index.ts";
import { openPlaces } from "../../attacks/places.ts";
import { proveOnHost, runAttacks } from "../../attacks/run.ts";
import { type Host, openHost } from "../../attacks/surroundings.ts";
import { makeTargets } from "../../attacks/targets.ts";
import { createGrading } from "../../services/grading/index.ts";
import { createRuntime } from "../../services/sandbox/index.ts";

const ALSO_DOCKER = [
  "fetch-by-ipv4",
  "image-layers",
  "other-processes",
  "patch-tape",
  "write-reward-and-kill",
];
const PART = new Set([
  ...ALSO_DOCKER,
  ...["sockets-of-the-host", "search-disk-for-solution", "file-of-the-host", "git-objects"],
  ...["weaken-tests", "own-tape-in-modules", "print-and-exit", "patch-tape-for-tests-only", "eat-memory"],
  ...[
    "patch-pytest",
    "patch-expect",
    "register-assertions",
    "patch-vitest-from-a-module",
    "os-exit-with-report",
    "print-report-for-script",
    "pytest-conftest",
    "table-of-hidden-answers",
    "claim-without-a-fix",
  ],
]);

let dataFolder: string;
let host: Host;
beforeAll(async () => {
  dataFolder = mkdtempSync(join(tmpdir(), "attacks-"));
  host = await openHost();
});
afterAll(async () => {
  await host?.close();
  rmSync(dataFolder, { recursive: true, force: true });
});

const runtimeOf = (name: "process" | "docker") =>
  createRuntime(name, { dataFolder, nodePath: process.execPath });
// Where tests must not be left out, a daemon that is missing is a failure.
const probe = createRuntime("docker", { dataFolder: tmpdir(), nodePath: process.execPath });
const hasDocker = process.env.CI === "true" || (await probe.unavailable()) === null;

describe.each(["process", "docker"] as const)("attacks in the %s runtime", (name) => {
  it.runIf(name === "process" || hasDocker)(
    "end as declared",
    async () => {
      const runtime = runtimeOf(name);
      const grading = createGrading({ runtime });
      try {
        const wanted = name === "process" ? PART : new Set(ALSO_DOCKER);
        const attacks = ATTACKS.filter((attack) => wanted.has(attack.name));
        expect(attacks).toHaveLength(wanted.size);
        const targets = await makeTargets(new Set(attacks.map(({ on }) => on)), dataFolder, grading);
        const controls = name === "process" ? runtime : null;
        const field = { host, targets, runtime, grading, controls, places: openPlaces() };
        const results = await runAttacks(attacks, field, await proveOnHost(attacks, field));
        expect(results.filter(({ ending }) => ending === "broken")).toEqual([]);
        expect(results).toHaveLength(attacks.length);
      } finally {
        await grading.close();
      }
    },
    240_000,
  );
});
