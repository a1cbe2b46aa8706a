/** `node tests/support/scripted-author/main.ts --port N --personality NAME`: a scripted author for experiments, until it is stopped. */
import { parseArgs } from "node:util";
import { PERSONALITIES, type Personality, startScriptedAuthor } from "./server.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    personality: { type: "string", default: "good" },
    model: { type: "string" },
  },
});
const port = Number(values.port);
if (!PERSONALITIES.includes(values.personality as Personality) || !Number.isInteger(port)) {
  console.error(`expected --port N and --personality, one of ${PERSONALITIES.join(", ")}`);
  process.exit(2);
}
const { url, counted } = await startScriptedAuthor({
  port,
  personality: values.personality as Personality,
  ...(values.model !== undefined && { model: values.model }),
});
process.once("SIGTERM", () => {
  console.log(`answered ${counted.length} requests`);
  process.exit(0);
});
console.log(`${values.personality} author at ${url}`);
