/** The search attributes workflows are started with: made on the stack's own server and on any other, once. */
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Connection } from "@temporalio/client";
import { StackError } from "./errors.ts";
import type { Ports } from "./ports.ts";
import { defaultNamespace, namespaceUrl, temporalProgram } from "./temporal.ts";

type AttributeType = "Keyword" | "Int";

/** The list of `core/search-attributes.ts`, which the stack does not import. */
export const searchAttributes: Readonly<Record<string, AttributeType>> = {
  TadpoleExperiment: "Keyword",
  TadpoleIteration: "Int",
  TadpolePhase: "Keyword",
  TadpolePolicy: "Keyword",
  TadpoleOutcome: "Keyword",
  TadpoleEnvironment: "Keyword",
};

/** `temporal.api.enums.v1.IndexedValueType`. */
const typeNumber: Readonly<Record<AttributeType, number>> = { Keyword: 2, Int: 3 };
const typeNames = ["no type", "Text", "Keyword", "Int", "Double", "Bool", "Datetime", "KeywordList"];

/** gRPC ALREADY_EXISTS: another stack of the same server was faster. */
const alreadyExists = 6;

/** How long a cluster may take until all of it knows a new attribute. */
const spreadSeconds = 30;

/** Options of `temporal operator search-attribute create`. */
function createOptions(names: readonly string[]): string[] {
  return names.flatMap((name) => ["--name", name, "--type", searchAttributes[name]!]);
}

/** On the stack's own server, by its own program: the supervisor needs no client of its own. Throws StackError `failed`. */
export async function makeSearchAttributes(ports: Ports, env: NodeJS.ProcessEnv): Promise<void> {
  const answer = await fetch(`${namespaceUrl(ports)}/search-attributes`);
  const { customAttributes = {} } = (await answer.json()) as { customAttributes?: Record<string, string> };
  const missing = Object.keys(searchAttributes).filter((name) => !Object.hasOwn(customAttributes, name));
  if (missing.length === 0) return;
  const server = ["--address", `127.0.0.1:${ports.temporal}`, "--namespace", defaultNamespace];
  const args = ["operator", "search-attribute", "create", ...server, ...createOptions(missing)];
  await promisify(execFile)(temporalProgram(env), args, { env, timeout: spreadSeconds * 1000 }).catch(
    (error: Error & { readonly stderr?: string }) => {
      throw new StackError(
        "failed",
        `Temporal does not take the search attributes: ${error.stderr || error.message}`,
      );
    },
  );
}

/**
 * On a server that runs elsewhere. Throws StackError `settings`, naming each attribute, when the server refuses or has one of another type;
 * nothing is changed then.
 */
export async function ensureSearchAttributes(
  connection: Connection,
  server: { readonly address: string; readonly namespace: string },
): Promise<void> {
  const { namespace } = server;
  const { operatorService } = connection;
  const found = async () =>
    (await operatorService.listSearchAttributes({ namespace })).customAttributes ?? {};
  const refused = (problem: string, cause?: unknown) =>
    new StackError("settings", `TEMPORAL_ADDRESS: namespace ${namespace} of ${server.address} ${problem}`, {
      cause,
    });
  const wanted = Object.entries(searchAttributes);
  const before = await found().catch((error: Error) => {
    throw refused(`does not tell its search attributes: ${error.message}`, error);
  });
  for (const [name, type] of wanted) {
    const other = before[name];
    if (other !== undefined && other !== typeNumber[type])
      throw refused(`has a search attribute ${name} of type ${typeNames[other] ?? other}, expected ${type}`);
  }
  const missing = wanted.filter(([name]) => before[name] === undefined);
  if (missing.length === 0) return;
  const named = missing.map(([name, type]) => `${name} (${type})`).join(", ");
  const mend = `add them with: temporal operator search-attribute create --namespace ${namespace} ${createOptions(missing.map(([name]) => name)).join(" ")}`;
  await operatorService
    .addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map(([name, type]) => [name, typeNumber[type]])),
    })
    .catch((error: Error & { readonly code?: number; readonly details?: string }) => {
      if (error.code === alreadyExists) return;
      throw refused(
        `lacks the search attributes ${named} and refuses to add them (${error.details || error.message}); ${mend}`,
        error,
      );
    });
  const deadline = Date.now() + spreadSeconds * 1000;
  for (
    let known = await found();
    missing.some(([name]) => known[name] === undefined);
    known = await found()
  ) {
    if (Date.now() > deadline)
      throw refused(`does not show the search attributes ${named} after ${spreadSeconds} s`);
    await sleep(100);
  }
}
