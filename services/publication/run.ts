/** Carries a publication out: gives each engine its orders, and writes down where every engine stands before it is given the next. */
import {
  type Advanced,
  beginPublication,
  type EngineFacts,
  neededVersions,
  nextPublication,
  type Publication,
  type PublicationEvent,
  type PublicationOrder,
  type PublicationOutcome,
  publicationOutcome,
} from "../../core/publication.ts";
import { type EngineDriver, PolicyError } from "../policy/index.ts";

export interface RunInput {
  readonly target: string;
  readonly lastGood: string | null;
  readonly pausedShare: number;
  readonly drivers: readonly EngineDriver[];
  /** By URL: what an engine in service was proven to serve. */
  readonly proven: ReadonlyMap<string, string>;
  /** Path of a version's files as the engines see it. */
  readonly folderOf: (version: string) => Promise<string>;
  /** Awaited before the orders that follow from it are given. */
  readonly onChange: (publication: Publication) => Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

export interface RunOutput {
  readonly outcome: PublicationOutcome;
  readonly publication: Publication;
  /** Whose files must stay. */
  readonly needed: ReadonlySet<string>;
  /** Why the target is not served; in the order they came. */
  readonly failures: readonly Error[];
  /** The engines work; the weights do not. */
  readonly badWeights: boolean;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What an engine answers where it works and its weights do not: no completion with finite log-probabilities. */
function isBadWeights(order: PublicationOrder, error: unknown): boolean {
  return order.step === "canary" && error instanceof PolicyError && error.kind === "protocol";
}

/** Throws the signal's reason once it aborts: engines that were not done stay out of service, on record and by the version they name. */
export async function runPublication(input: RunInput): Promise<RunOutput> {
  const { drivers, signal, onChange } = input;
  const driverOf = new Map(drivers.map((driver) => [driver.url, driver]));
  const failures: Error[] = [];
  let badWeights = false;
  const open = new Map<string, Promise<PublicationEvent>>();

  const carryOut = async (order: PublicationOrder): Promise<PublicationEvent> => {
    const { url } = order;
    const driver = driverOf.get(url)!;
    try {
      if (order.step === "retire") await driver.retire();
      else await carryOutStep(driver, order, input);
      return { kind: "done", url };
    } catch (error) {
      failures.push(error instanceof Error ? error : new Error(String(error)));
      const bad = isBadWeights(order, error);
      return { kind: "failed", url, why: `${order.step}: ${messageOf(error)}`, badWeights: bad };
    }
  };

  const facts = await Promise.all(drivers.map((driver) => factsOf(driver, input, failures)));
  let at: Advanced = beginPublication({ ...input, engines: facts });
  const take = async (next: Advanced): Promise<void> => {
    at = next;
    await onChange(at.publication);
    // One after the other: an engine that goes back is retired first, which would else name it out in the midst of that.
    for (const order of at.orders)
      open.set(
        order.url,
        Promise.resolve(open.get(order.url)).then(() => carryOut(order)),
      );
  };
  await take(at);
  for (;;) {
    while (open.size > 0) {
      const event = await Promise.race(open.values());
      // Nothing more is given to an engine, and what is given ends by itself.
      signal?.throwIfAborted();
      open.delete(event.url);
      const before = at.publication.aim;
      const next = nextPublication(at.publication, event);
      badWeights ||= before !== next.publication.aim && event.kind === "failed" && event.badWeights === true;
      await take(next);
    }
    const lost = await lostEngines(at.publication, driverOf, signal);
    for (const event of lost) await take(nextPublication(at.publication, event));
    const outcome = publicationOutcome(at.publication);
    if (outcome !== null && open.size === 0)
      return {
        ...{ outcome, publication: at.publication, failures, badWeights },
        needed: neededVersions(at.publication),
      };
  }
}

async function factsOf(
  driver: EngineDriver,
  { proven, signal }: RunInput,
  failures: Error[],
): Promise<EngineFacts> {
  const { url } = driver;
  const known = { url, proven: proven.get(url) ?? null };
  try {
    return { ...known, reports: await driver.version(signal), unreachable: null };
  } catch (error) {
    signal?.throwIfAborted();
    failures.push(error instanceof Error ? error : new Error(String(error)));
    return { ...known, reports: null, unreachable: messageOf(error) };
  }
}

async function carryOutStep(
  driver: EngineDriver,
  { step, version }: PublicationOrder,
  { folderOf, signal }: RunInput,
): Promise<void> {
  switch (step) {
    case "load":
      return driver.load(version, await folderOf(version), signal);
    case "verify": {
      const said = await driver.version(signal);
      if (said !== version)
        throw new PolicyError("not-served", `${driver.url}: it serves ${said}: expected ${version}`);
      return;
    }
    case "canary":
      return driver.canary(version, signal);
    case "retire":
      return driver.retire();
    default:
      return driver[step](signal);
  }
}

/** An engine that was restarted while others were at it serves base weights by now. */
async function lostEngines(
  { engines }: Publication,
  driverOf: ReadonlyMap<string, EngineDriver>,
  signal?: AbortSignal,
): Promise<PublicationEvent[]> {
  const asked = engines
    .filter(({ status }) => status === "serving")
    .map(async ({ url, version }): Promise<PublicationEvent[]> => {
      const said = await driverOf.get(url)!.version(signal).catch(messageOf);
      return said === version ? [] : [{ kind: "lost", url, why: `it serves ${said}: expected ${version}` }];
    });
  return (await Promise.all(asked)).flat();
}
