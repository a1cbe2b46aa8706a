/**
 * The sandbox contract, run against the Docker runtime. Where no daemon answers it is left out, but not with CI=true: `.ci/run` starts one.
 */
import { describe, it } from "vitest";
import { sandboxContract } from "./sandbox.ts";
import { makeBench } from "./sandbox-bench.ts";

const probe = makeBench("docker");
const reason = await probe.runtime.unavailable();
probe.remove();

if (reason === null || process.env.CI === "true") sandboxContract("docker");
else describe("docker sandbox", () => it.skip(`needs a Docker daemon: ${reason}`, () => {}));
