/**
 * Which code a running workflow goes on with (docs/upgrading.md), by TADPOLE_WORKER_VERSIONING. Unset: whichever worker takes its next task.
 * `auto` and `pinned` make the workflows of a build a version of a Temporal worker deployment: with `auto` a workflow moves to the current version
 * with its next task, with `pinned` it stays on the one it began with.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@temporalio/client";
import type { WorkerDeploymentOptions } from "@temporalio/worker";
import type { WorkerVersioning } from "../infra/stack/index.ts";

export const DEPLOYMENT = "tadpole";

/** gRPC status codes. */
const NOT_FOUND = 5;
const FAILED_PRECONDITION = 9;
const UNIMPLEMENTED = 12;

/** The server learns of a version by its worker's first poll. */
const TRIES = 150;
const BETWEEN_MS = 200;

export function deploymentOptions(versioning: WorkerVersioning, buildId: string): WorkerDeploymentOptions {
  return {
    version: { deploymentName: DEPLOYMENT, buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: versioning === "pinned" ? "PINNED" : "AUTO_UPGRADE",
  };
}

type ErrorWithCode = Error & { readonly code?: number };

/**
 * Makes `buildId` what new workflows begin with and auto-upgrading ones move to; null: workers without a version. To be called once the worker polls.
 * A cluster that knows no deployments needs no change for null.
 */
export async function makeCurrent(
  client: Pick<Client, "workflowService">,
  namespace: string,
  buildId: string | null,
): Promise<void> {
  const { workflowService } = client;
  if (buildId === null) {
    const current = await currentBuild(client, namespace);
    if (current === null) return;
  }
  for (let tries = 1; ; tries++) {
    try {
      await workflowService.setWorkerDeploymentCurrentVersion({
        namespace,
        deploymentName: DEPLOYMENT,
        buildId: buildId ?? "",
        // Queues that only an older version served are no reason to stay with it.
        ignoreMissingTaskQueues: true,
        identity: `tadpole@${process.pid}`,
      });
      return;
    } catch (error) {
      const { code } = error as ErrorWithCode;
      if (tries === TRIES || (code !== NOT_FOUND && code !== FAILED_PRECONDITION)) throw error;
      await sleep(BETWEEN_MS);
    }
  }
}

/** Build id of the deployment's current version; null without one. */
async function currentBuild(
  { workflowService }: Pick<Client, "workflowService">,
  namespace: string,
): Promise<string | null> {
  try {
    const { workerDeploymentInfo } = await workflowService.describeWorkerDeployment({
      namespace,
      deploymentName: DEPLOYMENT,
    });
    return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId || null;
  } catch (error) {
    const { code } = error as ErrorWithCode;
    if (code === NOT_FOUND || code === UNIMPLEMENTED) return null;
    throw error;
  }
}
