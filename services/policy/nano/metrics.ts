/** What the inference server counts, in Prometheus' text format (version 0.0.4). */

/** Seconds: a cached turn takes a millisecond, a long prompt that is parsed anew a second. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

interface Requests {
  /** By HTTP status. */
  readonly statuses: Map<number, number>;
  /** Requests that took at most `BUCKETS[i]` seconds and more than the bound before. */
  readonly buckets: number[];
  seconds: number;
  count: number;
}

export interface ServerMetrics {
  /** `route` is one of the server's own, or `other`: what a client asks for must not become a label. */
  request(route: string, status: number, seconds: number): void;
  tokens(prompt: number, completion: number): void;
  /** `active`: completions in progress; `policies`: policies that can be asked for. */
  text(now: { readonly active: number; readonly policies: number }): string;
}

export function createServerMetrics(): ServerMetrics {
  const routes = new Map<string, Requests>();
  let promptTokens = 0;
  let completionTokens = 0;
  return {
    request(route, status, seconds) {
      let requests = routes.get(route);
      if (requests === undefined) {
        requests = { statuses: new Map(), buckets: BUCKETS.map(() => 0), seconds: 0, count: 0 };
        routes.set(route, requests);
      }
      requests.statuses.set(status, (requests.statuses.get(status) ?? 0) + 1);
      const bucket = BUCKETS.findIndex((bound) => seconds <= bound);
      if (bucket >= 0) requests.buckets[bucket]! += 1;
      requests.seconds += seconds;
      requests.count += 1;
    },
    tokens(prompt, completion) {
      promptTokens += prompt;
      completionTokens += completion;
    },
    text: ({ active, policies }) =>
      [
        ...family("tadpole_policy_requests_total", "counter", "Requests answered, by route and HTTP status"),
        ...[...routes].flatMap(([route, { statuses }]) =>
          [...statuses].map(
            ([status, count]) =>
              `tadpole_policy_requests_total{route="${route}",status="${status}"} ${count}`,
          ),
        ),
        ...family("tadpole_policy_request_seconds", "histogram", "Time from a request to its answer"),
        ...[...routes].flatMap(([route, requests]) => histogram(route, requests)),
        ...family("tadpole_policy_prompt_tokens_total", "counter", "Tokens of the prompts answered"),
        `tadpole_policy_prompt_tokens_total ${promptTokens}`,
        ...family("tadpole_policy_completion_tokens_total", "counter", "Tokens sampled"),
        `tadpole_policy_completion_tokens_total ${completionTokens}`,
        ...family("tadpole_policy_active_completions", "gauge", "Completions in progress"),
        `tadpole_policy_active_completions ${active}`,
        ...family("tadpole_policies_served", "gauge", "Policies that can be asked for"),
        `tadpole_policies_served ${policies}`,
        "",
      ].join("\n"),
  };
}

function family(name: string, type: "counter" | "gauge" | "histogram", help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function histogram(route: string, { buckets, seconds, count }: Requests): string[] {
  const name = "tadpole_policy_request_seconds";
  let below = 0;
  return [
    ...BUCKETS.map((bound, i) => {
      below += buckets[i]!;
      return `${name}_bucket{route="${route}",le="${bound}"} ${below}`;
    }),
    `${name}_bucket{route="${route}",le="+Inf"} ${count}`,
    `${name}_sum{route="${route}"} ${seconds}`,
    `${name}_count{route="${route}"} ${count}`,
  ];
}
