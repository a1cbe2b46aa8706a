/**
 * How one policy comes to N engines that serve one version each (docs/publication.md). Pure: it says which orders may be given next, and what
 * each outcome means. Whoever carries the orders out writes the standings down before it gives them.
 *
 * An engine that is taken out of service goes through every step, in order, before it is in service again. A failure at any step puts that
 * engine out, and the others go on. When no engine can serve the new version, or the weights themselves are bad, all go back to the last good
 * one.
 */

export const PUBLICATION_STEPS = ["pause", "flush", "load", "resume", "verify", "canary"] as const;
export type PublicationStep = (typeof PUBLICATION_STEPS)[number];

/** `serving`: proven to serve `version`, and asked for it; `paused`: out of service while it is brought to `version`; `out`: kept from serving. */
export type EngineStatus = "serving" | "paused" | "out";

export interface EngineStanding {
  readonly url: string;
  /** `idle`: it can be reached, serves nothing that is wanted, and was not begun with. */
  readonly status: EngineStatus | "idle";
  /** What it serves, or is brought to; null = nothing that is known. */
  readonly version: string | null;
  /** Of one that is paused. */
  readonly step: PublicationStep | null;
  /** An order was given and has not ended. */
  readonly busy: boolean;
  /** Was in service when the publication took it: such engines are bounded in number. */
  readonly taken: boolean;
  /** Of one that is out. */
  readonly why: string | null;
}

export interface Publication {
  readonly target: string;
  /** What all go back to; null = there is nothing, as before the first publication. */
  readonly lastGood: string | null;
  readonly pausedShare: number;
  readonly aim: "forward" | "back";
  readonly engines: readonly EngineStanding[];
}

/** What is known of an engine before anything is done to it. */
export interface EngineFacts {
  readonly url: string;
  /** What it says it serves; null = it says nothing of the kind, as after a restart. */
  readonly reports: string | null;
  /** What the record says it was proven to serve, while it is in service. */
  readonly proven: string | null;
  /** Why it cannot be reached; null = it can be. */
  readonly unreachable: string | null;
}

export type PublicationOrder = {
  readonly url: string;
  /** `retire`: keep it from serving, by whatever it still answers to; nothing waits for its success. */
  readonly step: PublicationStep | "retire";
  readonly version: string;
};

export type PublicationEvent =
  | { readonly kind: "done"; readonly url: string }
  | {
      readonly kind: "failed";
      readonly url: string;
      readonly why: string;
      /** The engine works, and what it was given does not. */
      readonly badWeights?: boolean;
    }
  /** It was found to serve something else, or nothing: it was restarted, or is gone. */
  | { readonly kind: "lost"; readonly url: string; readonly why: string };

export interface Advanced {
  readonly publication: Publication;
  /** To be carried out at the same time, each ending in one event `done` or `failed`. */
  readonly orders: readonly PublicationOrder[];
}

/** Where the publication stands; null = it goes on. `lost`: no engine serves anything. */
export type PublicationOutcome = "served" | "rolled-back" | "lost";

export function beginPublication(input: {
  readonly target: string;
  readonly lastGood: string | null;
  readonly pausedShare: number;
  readonly engines: readonly EngineFacts[];
}): Advanced {
  const { target, lastGood, pausedShare } = input;
  const engines = input.engines.map((facts) => firstStanding(facts, target, lastGood));
  return advance({ target, lastGood, pausedShare, aim: "forward", engines });
}

/** Repeated publication of what is served gives no order: an engine that says what it was proven to serve is believed. */
function firstStanding(
  { url, reports, proven, unreachable }: EngineFacts,
  target: string,
  lastGood: string | null,
): EngineStanding {
  if (unreachable !== null) return out(url, unreachable);
  const known = reports !== null && reports === proven && (reports === target || reports === lastGood);
  return {
    url,
    status: known ? "serving" : "idle",
    version: known ? reports : null,
    step: null,
    busy: false,
    taken: false,
    why: null,
  };
}

const out = (url: string, why: string, busy = false): EngineStanding => ({
  url,
  status: "out",
  version: null,
  step: null,
  busy,
  taken: false,
  why,
});

/** An event of an engine that has no order, or of one that the publication does not know, changes nothing. */
export function nextPublication(publication: Publication, event: PublicationEvent): Advanced {
  const engine = publication.engines.find(({ url }) => url === event.url);
  if (engine === undefined) return { publication, orders: [] };
  if (event.kind === "lost") {
    if (engine.status === "out" || engine.status === "idle") return { publication, orders: [] };
    return retire(publication, engine, event.why);
  }
  if (!engine.busy) return { publication, orders: [] };
  const free = { ...engine, busy: false };
  if (engine.status !== "paused") return advance(withEngine(publication, free));
  // What it was brought to is wanted no more: it begins anew, below.
  if (engine.version !== aimOf(publication)) return advance(withEngine(publication, idle(free)));
  if (event.kind === "done") return advance(withEngine(publication, stepped(free)));
  const served = publication.engines.some(
    ({ status, version }) => status === "serving" && version === engine.version,
  );
  // Where another engine serves the same weights well, it is this engine that is bad.
  const bad = event.badWeights === true && !served && publication.aim === "forward";
  return retire(publication, free, event.why, bad);
}

const idle = (engine: EngineStanding): EngineStanding => ({
  ...engine,
  status: "idle",
  version: null,
  step: null,
});

/** Undefined = there is nothing to go to. */
const aimOf = ({ aim, target, lastGood }: Publication): string | null =>
  aim === "forward" ? target : lastGood;

function stepped(engine: EngineStanding): EngineStanding {
  const step = PUBLICATION_STEPS[PUBLICATION_STEPS.indexOf(engine.step!) + 1];
  return step === undefined
    ? { ...engine, status: "serving", step: null, taken: false }
    : { ...engine, step };
}

function withEngine(publication: Publication, engine: EngineStanding): Publication {
  const engines = publication.engines.map((one) => (one.url === engine.url ? engine : one));
  return { ...publication, engines };
}

/** `back` = the weights are bad: nobody else is given them. */
function retire(publication: Publication, engine: EngineStanding, why: string, back = false): Advanced {
  const version = engine.version ?? publication.target;
  // While an order of its own has not ended, nothing else may be asked of it.
  const order = engine.busy ? [] : [{ url: engine.url, step: "retire" as const, version }];
  const retired = withEngine(publication, out(engine.url, why, true));
  const next = advance(back ? turnBack(retired) : retired);
  return { ...next, orders: [...order, ...next.orders] };
}

/** Engines that were put out are tried again: with the last good version they may well serve. */
function turnBack(publication: Publication): Publication {
  const engines = publication.engines.map((engine) =>
    engine.status === "out" || (engine.status === "serving" && engine.version !== publication.lastGood)
      ? { ...idle(engine), why: engine.why }
      : engine,
  );
  return { ...publication, aim: "back", engines };
}

/** Gives every order that may be given now. */
function advance(publication: Publication): Advanced {
  const turned = mustTurnBack(publication) ? turnBack(publication) : publication;
  const aim = aimOf(turned);
  let room = pausedAtOnce(turned) - turned.engines.filter(({ taken }) => taken).length;
  const orders: PublicationOrder[] = [];
  const engines = turned.engines.map((engine) => {
    if (engine.busy) return engine;
    if (engine.status === "idle" && aim === null)
      return out(engine.url, engine.why ?? "no version is known that it could serve");
    const isOld = engine.status === "serving" && engine.version !== aim && turned.aim === "forward";
    if (isOld && room < 1) return engine;
    if (isOld) room--;
    if (engine.status !== "paused" && engine.status !== "idle" && !isOld) return engine;
    const step = engine.status === "paused" ? engine.step! : PUBLICATION_STEPS[0];
    orders.push({ url: engine.url, step, version: aim! });
    const taken = engine.taken || isOld;
    return { ...engine, status: "paused" as const, version: aim, step, busy: true, taken, why: null };
  });
  return { publication: { ...turned, engines }, orders };
}

/** Forward, nothing left to try, and nobody serves the target. */
function mustTurnBack({ aim, engines }: Publication): boolean {
  return aim === "forward" && engines.every(({ status, busy }) => status === "out" && !busy);
}

/** How many engines in service may be taken out of it at once. */
export function pausedAtOnce({ engines, pausedShare }: Publication): number {
  return Math.max(1, Math.floor(engines.length * pausedShare));
}

export function publicationOutcome(publication: Publication): PublicationOutcome | null {
  const { aim, engines } = publication;
  const version = aimOf(publication);
  const settled = engines.every(
    (engine) =>
      !engine.busy &&
      (engine.status === "out" || (engine.status === "serving" && engine.version === version)),
  );
  if (!settled || mustTurnBack(publication)) return null;
  if (!engines.some(({ status }) => status === "serving")) return "lost";
  return aim === "forward" ? "served" : "rolled-back";
}

/**
 * Versions whose files must stay: of engines in service, of those being loaded, and of what all may have to go back to. Only once the publication
 * has settled, and so every engine in service acknowledged it, is the version of before not among them.
 */
export function neededVersions(publication: Publication): ReadonlySet<string> {
  const { target, lastGood, engines } = publication;
  const outcome = publicationOutcome(publication);
  const needed = new Set<string>();
  if (outcome === null || outcome === "served") needed.add(target);
  if (outcome !== "served" && lastGood !== null) needed.add(lastGood);
  for (const { version } of engines) if (version !== null) needed.add(version);
  return needed;
}
