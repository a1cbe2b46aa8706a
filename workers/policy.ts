/** The process of the embedded policy's inference server. */
import { join } from "node:path";
import { type AnswerBook, createPolicyServer } from "../services/policy/index.ts";
import { findAnswer, openArtifacts, openDatabase } from "../services/store/index.ts";

const folder = process.env.TADPOLE_DATA;
const port = Number(process.env.TADPOLE_POLICY_PORT ?? "");
if (!folder || !Number.isInteger(port) || port < 0 || port > 65535) {
  console.error("TADPOLE_DATA (a folder) and TADPOLE_POLICY_PORT (0 to 65535) must be set");
  process.exit(2);
}

/** Opened by the first stand-in that is asked: the embedded policy needs no record. */
let book: Promise<AnswerBook> | undefined;
const answers: AnswerBook = async (statement) => {
  book ??= openAnswers();
  return (await book)(statement);
};

async function openAnswers(): Promise<AnswerBook> {
  const db = await openDatabase(process.env.DATABASE_URL ?? "");
  const artifacts = await openArtifacts(folder!);
  return (statement) => findAnswer(db, artifacts, statement);
}

const server = await createPolicyServer({ folder: join(folder, "policy-server"), port, answers });
console.log(`policy server: ${server.url}`);
for (const signal of ["SIGTERM", "SIGINT"] as const)
  process.once(signal, () => void server.close().then(() => process.exit(0)));
process.send?.({ ready: true, metrics: `${server.url}/metrics` });
