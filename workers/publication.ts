/** Publication of weights by the worker that is beside the engines; `other` publishes to servers of other kinds. */
import type { PolicyAccess, RecordServices } from "../activities/index.ts";
import { isEngineKind } from "../core/policy.ts";
import { createPublisher } from "../services/publication/index.ts";

/** A restarted engine is found out by the next turn anyway; this is how long it does nothing before it is given its weights. */
const KEEP_SECONDS = 15;

export interface Publication {
  readonly policy: PolicyAccess;
  close(): Promise<void>;
}

/** Begins to look after the engines that this worker has given weights to, before and after a restart of it. */
export function openPublication(
  { db, artifacts, policy }: Pick<RecordServices, "db" | "artifacts" | "policy">,
  dataFolder: string,
): Publication {
  const publisher = createPublisher({ db, artifacts, dataFolder });
  const keeper = publisher.keep(KEEP_SECONDS);
  return {
    policy: {
      ...policy,
      publish: (ref, server, signal) =>
        isEngineKind(server.kind)
          ? publisher.publish(ref, server, signal)
          : policy.publish(ref, server, signal),
    },
    close: () => keeper.close(),
  };
}
