/**
 * A fake inference engine: speaks the routes of vLLM or SGLang that this project uses, samples tokens that follow from its weights, and
 * misbehaves on demand (`faults`). It ends and starts again as a process does: with base weights, on the same port.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createFaults, dropWithin, type Fault, type Faults, type Step } from "./faults.ts";
import { SGLANG_ROUTES } from "./sglang.ts";
import { VLLM_ROUTES } from "./vllm.ts";
import { BASE_WEIGHTS, type Checksums, type SampledTurn, sampleTurn, type TurnRequest } from "./weights.ts";

export interface FakeEngineOptions {
  readonly kind: "vllm" | "sglang";
  /** Name under which it says to serve. */
  readonly model?: string;
  /** Tokens of prompt and turn together. */
  readonly maxLength?: number;
  /** What it answers a turn with; default: tokens drawn by weights, prompt and seed. */
  readonly sample?: (turn: TurnRequest) => SampledTurn;
  /** Text of tokens; default: one letter each. */
  readonly decode?: (tokens: readonly number[]) => string;
  /** False = vLLM without its development routes. */
  readonly devMode?: boolean;
}

/** What a turn in progress waits for, and how it ends. */
export interface Turn {
  /** Versions it was under, with the number of tokens sampled before each; more than one after a load in flight. */
  readonly versions: { from: number; version: string }[];
  readonly sampled: SampledTurn;
  aborted: boolean;
  wake(): void;
}

/** The engine's memory: gone when it ends. */
export interface EngineState {
  version: string;
  weights: Checksums;
  paused: "abort" | "wait" | "keep" | null;
  readonly turns: Set<Turn>;
}

export interface Reply {
  readonly status?: number;
  readonly body: unknown;
}

export interface RouteContext {
  readonly state: EngineState;
  readonly options: Required<FakeEngineOptions>;
  readonly body: Record<string, unknown>;
  readonly query: URLSearchParams;
  /** The turn's fault, where it is one of the reply's content. */
  readonly fault: Fault | null;
  /** Waits for its end: until the engine neither is paused nor holds its turns. */
  turn(request: Omit<TurnRequest, "weights">): Promise<Turn>;
  /** Ends or waits out the turns in progress, as pausing does; then the engine is paused. */
  pause(mode: "abort" | "wait" | "keep"): Promise<void>;
  resume(): void;
  /** New weights; turns in progress go on with them from the middle on. */
  load(weights: Checksums): void;
}

export interface Route {
  readonly step: Step;
  handle(context: RouteContext): Promise<Reply> | Reply;
}

/** By method and path. */
export type Routes = Readonly<Record<string, Route>>;

export interface FakeEngine {
  readonly url: string;
  readonly faults: Faults;
  readonly state: EngineState;
  /** Requests since the start, in order. */
  readonly requests: {
    readonly route: string;
    readonly step: Step;
    readonly body: Record<string, unknown>;
  }[];
  /** Turns stay in progress until `release`. */
  hold(): void;
  release(): void;
  /** Resolves once that many turns are in progress. */
  inProgress(count: number): Promise<void>;
  /** Ends it as SIGKILL would. */
  die(): Promise<void>;
  /** As a supervisor does: the same port, base weights. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** What an engine names weights that nobody gave a version. */
export const BASE_VERSION = "default";

const fresh = (): EngineState => ({
  version: BASE_VERSION,
  weights: BASE_WEIGHTS,
  paused: null,
  turns: new Set(),
});

const letters = (tokens: readonly number[]) =>
  tokens.map((token) => String.fromCharCode(97 + (token % 26))).join("");

export async function startFakeEngine(given: FakeEngineOptions): Promise<FakeEngine> {
  const options = {
    model: "tiny",
    maxLength: 8192,
    sample: sampleTurn,
    decode: letters,
    devMode: true,
    ...given,
  };
  const routes = options.kind === "vllm" ? VLLM_ROUTES : SGLANG_ROUTES;
  const faults = createFaults();
  const requests: FakeEngine["requests"] = [];
  let state = fresh();
  let holding = false;
  let server: Server | null = null;
  let changed: (() => void)[] = [];
  const wakeAll = () => {
    for (const { wake } of state.turns) wake();
    const waiting = changed;
    changed = [];
    for (const wake of waiting) wake();
  };
  const change = () => new Promise<void>((resolve) => changed.push(resolve));

  const die = async () => {
    const dying = server;
    server = null;
    for (const turn of state.turns) turn.aborted = true;
    wakeAll();
    state = fresh();
    dying?.closeAllConnections();
    await new Promise<void>((resolve) => (dying ? dying.close(() => resolve()) : resolve()));
  };

  const contextOf = (
    mine: EngineState,
    body: Record<string, unknown>,
    query: URLSearchParams,
    fault: Fault | null,
  ) => {
    const context: RouteContext = {
      state: mine,
      options,
      body,
      query,
      fault,
      turn: async (request) => {
        // A paused engine keeps what it is asked in its queue.
        while (mine.paused !== null) await change();
        const sampled = options.sample({ ...request, weights: mine.weights });
        let wake = () => {};
        const turn: Turn = {
          versions: [{ from: 0, version: mine.version }],
          sampled,
          aborted: false,
          wake: () => wake(),
        };
        mine.turns.add(turn);
        wakeAll();
        while (!turn.aborted && (holding || mine.paused === "keep"))
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        mine.turns.delete(turn);
        wakeAll();
        return turn;
      },
      pause: async (mode) => {
        mine.paused = mode;
        if (mode === "abort") for (const turn of mine.turns) turn.aborted = true;
        wakeAll();
        while (mode !== "keep" && mine.turns.size > 0) await change();
      },
      resume: () => {
        mine.paused = null;
        wakeAll();
      },
      load: (weights) => {
        mine.weights = weights;
      },
    };
    return context;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "/", "http://fake");
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
    const name = `${request.method} ${url.pathname}`;
    const route = routes[name];
    const send = (status: number, value: unknown) => {
      if (response.destroyed) return;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (!route) return send(404, { error: { message: `${name}: Not Found` } });
    requests.push({ route: name, step: route.step, body });
    const fault = faults.take(route.step);
    if (fault === "hang") return;
    if (fault === "refuse") return void response.destroy();
    if (fault === "die") return void (await die());
    if (typeof fault === "number") return send(fault, { error: { message: `told to answer ${fault}` } });
    const mine = state;
    const reply = await route.handle(contextOf(mine, body, url.searchParams, fault));
    if (fault === "die-after") return void (await die());
    if (mine !== state) return void response.destroy();
    if (fault === "drop") return dropWithin(response, JSON.stringify(reply.body));
    send(reply.status ?? 200, reply.body);
  };

  let port = 0;
  const listen = async () => {
    const made = createServer((request, response) => {
      answer(request, response).catch((error) => {
        if (response.headersSent || response.destroyed) return void response.destroy();
        response.writeHead(500).end(JSON.stringify({ error: { message: String(error) } }));
      });
    });
    await new Promise<void>((resolve) => made.listen(port, "127.0.0.1", resolve));
    ({ port } = made.address() as AddressInfo);
    server = made;
  };
  await listen();

  return {
    url: `http://127.0.0.1:${port}`,
    faults,
    get state() {
      return state;
    },
    requests,
    hold: () => {
      holding = true;
    },
    release: () => {
      holding = false;
      wakeAll();
    },
    inProgress: async (count) => {
      while (state.turns.size < count) await change();
    },
    die,
    restart: async () => {
      await die();
      await listen();
    },
    close: die,
  };
}
