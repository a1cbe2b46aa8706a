/** A private Temporal server as the loop's workflows need it: with their search attributes. */
import { TestWorkflowEnvironment } from "@temporalio/testing";
import { searchAttributes, temporalProgram } from "../../infra/stack/index.ts";

/** `extraArgs` go to the server. The caller calls `teardown`. */
export function startTestTemporal(extraArgs: readonly string[] = []): Promise<TestWorkflowEnvironment> {
  const attributes = Object.entries(searchAttributes).flatMap(([name, type]) => [
    "--search-attribute",
    `${name}=${type}`,
  ]);
  return TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: "existing-path", path: temporalProgram() },
      log: { format: "pretty", level: "error" },
      extraArgs: [...attributes, ...extraArgs],
    },
  });
}
