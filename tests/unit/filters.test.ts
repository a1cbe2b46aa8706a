/** Filters whose words the record knows: both faces take each of them, and refuse any other naming them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApi } from "../../apps/api/server.ts";
import { describeError, exitCodes } from "../../apps/cli/errors.ts";
import { FILTERS, type Filter, readFilter } from "../../apps/control/filters.ts";

const URLS: Readonly<Record<keyof typeof FILTERS, string>> = {
  experiments: "/v1/experiments",
  iterations: "/v1/experiments/one/iterations",
  tasks: "/v1/tasks",
  imports: "/v1/imports",
  rollouts: "/v1/rollouts",
  policies: "/v1/policies",
  evaluations: "/v1/evaluations",
};

const choices = Object.entries(FILTERS).flatMap(([list, filters]) =>
  Object.entries<Filter>(filters).flatMap(([name, filter]) =>
    filter.kind === "choice" ? [{ list: list as keyof typeof FILTERS, name, filter }] : [],
  ),
);

let api: Awaited<ReturnType<typeof createApi>>;
beforeAll(async () => {
  // Whoever passes the validator meets no record, and fails.
  const none = {} as Parameters<typeof createApi>[0];
  const options = { tokens: [], requestsPerMinute: 1000, streamSeconds: 1, version: "0", log: null };
  api = await createApi(none, options);
});
afterAll(() => api?.close());

const refusalOf = (name: string, filter: Filter, text: string) => {
  try {
    readFilter(name, filter, text);
  } catch (error) {
    return describeError(error);
  }
  throw new Error(`${name} took ${text}`);
};

describe("a filter of words", () => {
  it.each([
    ["rollouts", "phase", ["probe", "climb", "evaluate"]],
    ["iterations", "status", ["pending", "pool", "climb", "select", "finished", "failed"]],
    ["experiments", "status", ["running", "done", "failed", "stopped"]],
  ])("of %s by %s has the words of the record", (list, name, values) => {
    expect(choices).toContainEqual(
      expect.objectContaining({ list, name, filter: expect.objectContaining({ values }) }),
    );
  });

  it.each(choices)("$list by $name refuses other words on the command line", ({ name, filter }) => {
    const message = `${name} "evaluation": expected one of ${filter.values.join(", ")}`;
    expect(refusalOf(name, filter, "evaluation")).toMatchObject({ message, exitCode: exitCodes.badInput });
    for (const value of filter.values) expect(readFilter(name, filter, value)).toBe(value);
  });

  it.each(choices)("$list by $name refuses other words over HTTP", async ({ list, name, filter }) => {
    const ask = (value: string) => api.inject({ method: "GET", url: `${URLS[list]}?${name}=${value}` });
    const refused = await ask("evaluation");
    expect(refused.statusCode).toBe(400);
    expect(refused.json().field).toBe(name);
    for (const value of filter.values) {
      expect(refused.json().detail).toContain(value);
      expect((await ask(value)).statusCode, value).toBe(500);
    }
  });
});
