/**
 * One PolicyClient over the engines of a policy. Turns of a conversation go to one engine while it is well; each engine has so many places;
 * a sick one is left out, asked again after a while, and back once it says that it serves what is asked for.
 *
 * A turn that no engine has answered yet (`unreachable`, `not-served`) goes to the next one. Anything else is told to the caller.
 */
import {
  type Capabilities,
  type Completion,
  type CompletionTurn,
  type PolicyClient,
  PolicyError,
} from "./client.ts";
import { type Engine, mayAnswer } from "./engine.ts";
import {
  afterFailedProbe,
  afterFailure,
  afterGoodProbe,
  afterSuccess,
  type Health,
  outFor,
  WELL,
} from "./fleet/health.ts";
import { createPlaces, type Places } from "./fleet/places.ts";
import { rank } from "./fleet/routing.ts";

export interface EngineState {
  readonly url: string;
  readonly inFlight: number;
  readonly waiting: number;
  /** Why it gets no turns; null = it does. */
  readonly quarantine: string | null;
}

/** For gauges. */
export interface FleetWatch {
  /** A turn began, after that many seconds of waiting for a place. */
  queued(seconds: number): void;
  /** After each change. */
  engine(state: EngineState): void;
}

export interface FleetOptions {
  /** Turns in progress on one engine at most. */
  readonly turnsInFlight: number;
  readonly onPublish: "finish" | "continue";
  readonly watch?: FleetWatch;
  /** Milliseconds since any point; for tests. */
  readonly now?: () => number;
}

interface Member {
  readonly engine: Engine;
  readonly places: Places;
  health: Health;
  /** The question it is being asked in quarantine, by policy. */
  readonly probes: Map<string, Promise<boolean>>;
}

/** Failures after which no token was taken, so that another engine may be asked. */
const ELSEWHERE: readonly PolicyError["kind"][] = ["unreachable", "not-served"];

export function createFleet(engines: readonly Engine[], options: FleetOptions): PolicyClient {
  const { onPublish, watch, now = () => performance.now() } = options;
  const members = new Map<string, Member>(
    engines.map((engine) => [
      engine.url,
      { engine, places: createPlaces(options.turnsInFlight), health: WELL, probes: new Map() },
    ]),
  );
  const urls = [...members.keys()];

  const tell = ({ engine, places, health }: Member) =>
    watch?.engine({
      url: engine.url,
      inFlight: places.taken,
      waiting: places.waiting,
      quarantine: health.out?.reason ?? null,
    });
  const setHealth = (member: Member, health: Health) => {
    member.health = health;
    if (health.out !== null) member.places.sendAway();
    tell(member);
  };

  const probe = (member: Member, policy: string): Promise<boolean> => {
    const asked = member.probes.get(policy);
    if (asked) return asked;
    const stillOut = (reason: string, of: string | null) => {
      setHealth(member, afterFailedProbe(member.health, of, reason, now()));
      return false;
    };
    const asking = member.engine
      .version()
      .then(
        (version) => {
          if (!mayAnswer(version, policy, onPublish)) return stillOut(`it serves ${version}`, policy);
          setHealth(member, afterGoodProbe(member.health));
          return true;
        },
        (error: unknown) => stillOut(error instanceof Error ? error.message : String(error), null),
      )
      .finally(() => member.probes.delete(policy));
    member.probes.set(policy, asking);
    return asking;
  };

  const isFit = async (member: Member, policy: string): Promise<boolean> => {
    const out = outFor(member.health, policy);
    if (out === null) return true;
    return out.untilMs <= now() ? probe(member, policy) : false;
  };

  const choose = async (turn: CompletionTurn, tried: ReadonlyMap<string, PolicyError>): Promise<Member> => {
    for (const url of rank(turn.affinity ?? String(turn.seed), urls)) {
      const member = members.get(url)!;
      if (!tried.has(url) && (await isFit(member, turn.policy))) return member;
    }
    throw noneLeft(turn, tried);
  };

  const noneLeft = ({ policy }: CompletionTurn, tried: ReadonlyMap<string, PolicyError>): PolicyError => {
    const reasons = urls.map((url) => {
      const reason =
        tried.get(url)?.message ?? outFor(members.get(url)!.health, policy)?.reason ?? "left out";
      return reason.startsWith(url) ? reason : `${url}: ${reason}`;
    });
    const wrong = [...tried.values()].some(({ kind }) => kind === "not-served");
    const all = urls.every((url) => tried.get(url)?.kind === "not-served");
    return new PolicyError(
      wrong && all ? "not-served" : "unreachable",
      `no engine of policy.engines.urls can answer for ${policy}: ${reasons.join("; ")}`,
      { cause: [...tried.values()].at(-1) },
    );
  };

  const answer = async (member: Member, turn: CompletionTurn): Promise<Completion> => {
    try {
      const completion = await member.engine.complete(turn);
      setHealth(member, afterSuccess(member.health, turn.policy));
      return completion;
    } catch (error) {
      if (!turn.signal?.aborted) setHealth(member, afterFailure(member.health, error, turn.policy, now()));
      throw error;
    } finally {
      member.places.giveBack();
      tell(member);
    }
  };

  const complete = async (turn: CompletionTurn): Promise<Completion> => {
    const tried = new Map<string, PolicyError>();
    let queueSeconds = 0;
    for (;;) {
      const member = await choose(turn, tried);
      const since = now();
      const taking = member.places.take(turn.signal);
      tell(member);
      const taken = await taking;
      queueSeconds += (now() - since) / 1000;
      // It fell ill while the turn waited: the next one is looked for.
      if (!taken) continue;
      watch?.queued(queueSeconds);
      try {
        const completion = await answer(member, turn);
        return { ...completion, usage: { ...completion.usage, queueSeconds } };
      } catch (error) {
        if (!(error instanceof PolicyError) || !ELSEWHERE.includes(error.kind)) throw error;
        tried.set(member.engine.url, error);
      }
    }
  };

  return { complete, capabilities: () => fleetCapabilities(engines) };
}

/** What all of them can do. Throws PolicyError `capability` where they serve different models. */
async function fleetCapabilities(engines: readonly Engine[]): Promise<Capabilities> {
  const [each, models] = await Promise.all([
    Promise.all(engines.map((engine) => engine.capabilities())),
    Promise.all(engines.map((engine) => engine.model())),
  ]);
  const other = models.findIndex((model) => model !== models[0]);
  if (other > 0)
    throw new PolicyError(
      "capability",
      `policy.engines.urls: engines of different models: ${engines[0]!.url} serves ${models[0]}, ${engines[other]!.url} serves ${models[other]}`,
    );
  const all = (has: keyof Capabilities) => each.every((one) => one[has]);
  return {
    tokenIds: all("tokenIds"),
    logProbs: all("logProbs"),
    weightVersion: all("weightVersion"),
    seed: all("seed"),
  };
}
