/** How tests run: each file in a process of its own, two at a time, nothing replaced. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    globalSetup: ["tests/support/run-folder.ts"],
    pool: "forks",
    maxWorkers: 2,
    // Generous: a busy machine is no failure. A test that hangs still ends.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    // A lane with a test file that was forgotten empty should be noticed.
    passWithNoTests: false,
  },
});
