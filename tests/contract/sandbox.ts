/** What every sandbox runtime promises; run against each by `sandbox.test.ts` and `sandbox-docker.test.ts`. */
import { afterAll, describe, expect, it } from "vitest";
import type { SandboxRuntime } from "../../services/sandbox/index.ts";
import { makeBench } from "./sandbox-bench.ts";
import { commandsContract } from "./sandbox-commands.ts";
import { filesContract } from "./sandbox-files.ts";
import { hostileContract } from "./sandbox-hostile.ts";
import { lifeContract } from "./sandbox-life.ts";
import { limitsContract } from "./sandbox-limits.ts";
import { mountsContract } from "./sandbox-mounts.ts";

export function sandboxContract(name: SandboxRuntime["name"]): void {
  describe(`${name} sandbox`, () => {
    const bench = makeBench(name);
    afterAll(() => bench.remove());

    it("says that it can run here", async () => {
      expect(await bench.runtime.unavailable()).toBeNull();
    });
    commandsContract(bench);
    hostileContract(bench);
    limitsContract(bench);
    filesContract(bench);
    mountsContract(bench);
    lifeContract(bench);
  });
}
