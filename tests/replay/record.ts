/**
 * Records histories for the replay lane from a stack of its own that ran experiments: `node tests/replay/record.ts`. One history per
 * workflow, the longest of its kind that is finished.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { connectTemporal, dataFolder, readStack } from "../../infra/stack/index.ts";

const stack = readStack(dataFolder());
if (stack?.phase !== "running") {
  console.error("node tests/replay/record.ts needs the stack of TADPOLE_DATA running");
  process.exit(2);
}
const { client, connection } = await connectTemporal(stack.temporal);
const longest = new Map<string, { workflowId: string; runId: string; events: number }>();
for await (const execution of client.workflow.list()) {
  if (execution.status.name === "RUNNING") continue;
  const events = execution.historyLength ?? 0;
  const kind = execution.status.name === "CONTINUED_AS_NEW" ? `${execution.type}.continued` : execution.type;
  if (events > (longest.get(kind)?.events ?? 0))
    longest.set(kind, { workflowId: execution.workflowId, runId: execution.runId, events });
}
const folder = join(import.meta.dirname, "histories");
mkdirSync(folder, { recursive: true });
for (const [kind, { workflowId, runId, events }] of longest) {
  const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  writeFileSync(join(folder, `${kind}.json.gz`), gzipSync(historyToJSON(history), { level: 9 }));
  console.log(`${kind}: ${events} events of ${workflowId}`);
}
await connection.close();
