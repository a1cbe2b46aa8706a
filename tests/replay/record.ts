/**
 * Records the histories of the replay lane anew: `node tests/replay/record.ts`, a few minutes on a stack of its own. One history per
 * workflow, the longest of its kind; apart from it those that continued as new and those that were steered.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Client } from "@temporalio/client";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import type { temporal } from "@temporalio/proto";
import { withStack } from "../../apps/control/index.ts";
import { stopStack } from "../../infra/stack/index.ts";
import { finishEarlySignal } from "../../workflows/messages.ts";
import { rehearse } from "./rehearse.ts";

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

async function longestOfEachKind(client: Client): Promise<Map<string, Recorded>> {
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
  return longest;
}

const folder = join(import.meta.dirname, "histories");
const data = mkdtempSync(join(tmpdir(), "tadpole-record-"));
process.env.TADPOLE_DATA = data;
try {
  await withStack(async (session) => {
    await rehearse(session, (line) => void process.stderr.write(`${line}\n`));
    const longest = await longestOfEachKind(session.client);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const [kind, { workflowId, history }] of [...longest].sort()) {
      writeFileSync(join(folder, `${kind}.json.gz`), gzipSync(historyToJSON(history), { level: 9 }));
      console.log(`${kind}: ${history.events!.length} events of ${workflowId}`);
    }
  });
} finally {
  await stopStack(data);
  rmSync(data, { recursive: true, force: true });
}
