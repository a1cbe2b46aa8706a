/** A process that runs the rollout activity, says which turn it asks for, and waits there to be killed; started by rollout-resume.test.ts. */
import { readFile } from "node:fs/promises";
import type { RolloutInput } from "../../activities/types.ts";
import { turnTeller } from "../support/turn-teller.ts";
import { activityBenchOn, call, sandboxActivities } from "./activities-services.ts";

interface Order {
  readonly url: string;
  readonly data: string;
  readonly input: RolloutInput;
  readonly script: readonly string[];
  /** It waits for the answer to this turn for ever; null = for none. */
  readonly stallAt: number | null;
}

const order = JSON.parse(await readFile(process.argv[2]!, "utf8")) as Order;
const bench = await activityBenchOn(order.url, order.data);
const { client } = turnTeller(order.input, order.script, async (turn) => {
  console.log(`asks for turn ${turn}`);
  if (turn === order.stallAt) await new Promise((resolve) => setInterval(resolve, 2 ** 30));
});
bench.play(client);
await call(sandboxActivities(bench.services).rollout, order.input);
console.log("accepted");
