/**
 * Records histories for the replay lane from a stack of its own that ran experiments: `node tests/replay/record.ts`. One history per
 * workflow, the longest of its kind that is finished; apart from it those that continued as new and those that were steered.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import type { temporal } from "@temporalio/proto";
import { connectTemporal, dataFolder, readStack } from "../../infra/stack/index.ts";
import { finishEarlySignal } from "../../workflows/messages.ts";

const stack = readStack(dataFolder());
if (stack?.phase !== "running") {
  console.error("node tests/replay/record.ts needs the stack of TADPOLE_DATA running");
  process.exit(2);
}
const { client, connection } = await connectTemporal(stack.temporal);
type History = temporal.api.history.v1.IHistory;

interface Recorded {
  readonly workflowId: string;
  readonly history: History;
}

/** What was asked of it on the way: updates of an experiment, the signal to finish early of what runs below it. */
const isSteered = ({ events }: History): boolean =>
  events!.some(
    (event) =>
      event.workflowExecutionUpdateAcceptedEventAttributes != null ||
      event.workflowExecutionSignaledEventAttributes?.signalName === finishEarlySignal.name,
  );

const longest = new Map<string, Recorded>();
for await (const { workflowId, runId, type, status } of client.workflow.list()) {
  if (status.name === "RUNNING") continue;
  const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const kind = [
    type,
    ...(status.name === "CONTINUED_AS_NEW" ? ["continued"] : []),
    ...(isSteered(history) ? ["steered"] : []),
  ].join(".");
  const longer = history.events!.length > (longest.get(kind)?.history.events?.length ?? 0);
  if (longer) longest.set(kind, { workflowId, history });
}
const folder = join(import.meta.dirname, "histories");
mkdirSync(folder, { recursive: true });
for (const [kind, { workflowId, history }] of longest) {
  writeFileSync(join(folder, `${kind}.json.gz`), gzipSync(historyToJSON(history), { level: 9 }));
  console.log(`${kind}: ${history.events!.length} events of ${workflowId}`);
}
await connection.close();
