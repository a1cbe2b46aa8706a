/** The pure parts of the API: cursors, tokens, and which problem an error is. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError, type ApiErrorKind, problemOf, retryAfter } from "../../apps/api/problems.ts";
import { foreign, isLoopback, readToken, refusal } from "../../apps/api/tokens.ts";
import { decodeCursor, encodeCursor, PageError, type PageErrorKind } from "../../apps/control/cursors.ts";
import { FILTERS, readCount, readFilter } from "../../apps/control/filters.ts";
import { ReplayError, type ReplayErrorKind } from "../../apps/control/replay-plan.ts";
import { ScheduleError, type ScheduleErrorKind } from "../../apps/control/schedules.ts";
import { SteeringError, type SteeringErrorKind } from "../../apps/control/steering.ts";
import { SettingsError, type SettingsErrorKind } from "../../core/schemas/index.ts";
import { StackError, type StackErrorKind } from "../../infra/stack/errors.ts";
import { EnvironmentError, type EnvironmentErrorKind } from "../../services/environments/errors.ts";
import {
  ArtifactError,
  type ArtifactErrorKind,
  StoreError,
  type StoreErrorKind,
} from "../../services/store/errors.ts";

const compared = vi.hoisted(() => [] as (readonly [number, number])[]);
vi.mock("node:crypto", async (original) => {
  const real = await original<typeof import("node:crypto")>();
  const timingSafeEqual: typeof real.timingSafeEqual = (a, b) => {
    compared.push([a.byteLength, b.byteLength]);
    return real.timingSafeEqual(a, b);
  };
  return { ...real, timingSafeEqual };
});

describe("cursors", () => {
  const keys = fc.string({ unit: "grapheme", minLength: 1, maxLength: 300 });
  const words = fc.dictionary(fc.constantFrom("status", "policy", "try"), fc.string({ maxLength: 20 }));

  it("give their key back, to the same list with the same filters in any order", () => {
    fc.assert(
      fc.property(keys, words, (key, filters) => {
        const reversed = Object.fromEntries(Object.entries(filters).reverse());
        expect(decodeCursor("tasks", reversed, encodeCursor("tasks", filters, key))).toBe(key);
      }),
    );
  });

  const refused = (run: () => unknown) =>
    expect(run).toThrow(
      expect.objectContaining({
        name: "PageError",
        kind: "cursor",
        field: "cursor",
        message: expect.stringContaining("expected the `next`"),
      }),
    );

  it("are refused by every other list, by other filters, and after any change", () => {
    fc.assert(
      fc.property(keys, words, fc.nat(), fc.stringMatching(/^[A-Za-z0-9_-]$/), (key, filters, at, letter) => {
        const cursor = encodeCursor("tasks", filters, key);
        refused(() => decodeCursor("rollouts", filters, cursor));
        refused(() => decodeCursor("tasks", { ...filters, more: "x" }, cursor));
        refused(() => decodeCursor("tasks", filters, cursor.slice(0, -1)));
        refused(() => decodeCursor("tasks", filters, `${cursor}A`));
        const place = at % cursor.length;
        const changed = cursor.slice(0, place) + letter + cursor.slice(place + 1);
        if (changed !== cursor) refused(() => decodeCursor("tasks", filters, changed));
      }),
    );
  });

  it("are refused when they are no cursor at all", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        refused(() => decodeCursor("tasks", {}, text));
      }),
    );
  });
});

describe("filters on the command line", () => {
  it.each([
    ["iteration", FILTERS.tasks.iteration, "-1"],
    ["iteration", FILTERS.tasks.iteration, "1e3"],
    ["iteration", FILTERS.tasks.iteration, ""],
    ["policy", FILTERS.rollouts.policy, "'; drop table"],
    ["policy", FILTERS.rollouts.policy, ""],
  ])("refuse --%s %j", (name, filter, text) => {
    expect(() => readFilter(name, filter, text)).toThrow(
      expect.objectContaining({
        name: "PageError",
        field: name,
        message: expect.stringContaining(`${name} "`),
      }),
    );
  });

  it("refuse a page size out of range", () => {
    expect(readCount("limit", "200", 1, 200)).toBe(200);
    for (const text of ["0", "201", "ten"])
      expect(() => readCount("limit", text, 1, 200)).toThrow(expect.objectContaining({ kind: "limit" }));
  });
});

describe("tokens", () => {
  const environment = {
    READ: "read-token-0123456789",
    WRITE: "  write-token-0123456789 ; expires=2030-01-01T00:00:00+02:00".replace(" ;", ";"),
    SHORT: "secret",
    ZONELESS: "token-with-bad-expiry;expires=2030-01-01T00:00:00",
    NEVER: "token-with-bad-expiry;expires=never",
  };
  const tokens = [
    readToken("READ", ["read"], environment),
    readToken("WRITE", ["read", "write"], environment),
  ];
  const before = Date.parse("2029-12-31T21:59:59Z");
  const after = Date.parse("2029-12-31T22:00:00Z");
  const asked = (authorization: string | undefined, scope: "read" | "write" = "read", now = before) => {
    const found = refusal(tokens, authorization, scope, now);
    return found === null ? "passes" : `${found.kind}: ${found.message}`;
  };

  beforeEach(() => compared.splice(0));

  it("let through what their scope allows, until they expire", () => {
    expect(asked("Bearer read-token-0123456789")).toBe("passes");
    expect(asked("bearer  read-token-0123456789")).toBe("passes");
    expect(asked("Bearer read-token-0123456789", "write")).toMatch(/^forbidden: .*write scope/);
    expect(asked("Bearer write-token-0123456789", "write")).toBe("passes");
    expect(asked("Bearer write-token-0123456789", "write", after)).toBe("unauthenticated: expired token");
    expect(asked("Bearer read-token-0123456789", "read", after)).toBe("passes");
    for (const text of [undefined, "", "read-token-0123456789", "Basic cmVhZA==", "Bearer a b"])
      expect(asked(text)).toMatch(/^unauthenticated: expected the header Authorization: Bearer/);
    expect(refusal([], undefined, "write", before)).toBeNull();
  });

  it("are all compared as a whole, in time that tells nothing, whatever is given", () => {
    const whole = createHash("sha256").digest().byteLength;
    for (const text of ["read-token-0123456789", "write-token-0123456789", "x", "x".repeat(10_000)]) {
      compared.splice(0);
      asked(`Bearer ${text}`);
      expect(compared).toEqual([
        [whole, whole],
        [whole, whole],
      ]);
    }
  });

  it("pass for no other text", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9._~+/=-]{1,40}$/), (text) => {
        fc.pre(!Object.values(environment).some((token) => token.includes(text)));
        expect(asked(`Bearer ${text}`)).toBe("unauthenticated: unknown token");
      }),
    );
  });

  it.each(["SHORT", "ZONELESS", "NEVER", "ABSENT"])("of %s are refused without telling them", (variable) => {
    const read = () => readToken(variable, ["read"], environment);
    expect(read).toThrow(
      expect.objectContaining({
        kind: "settings",
        message: expect.stringContaining(`${variable}: expected`),
      }),
    );
    expect(read).not.toThrow(/secret|token-with-bad-expiry/);
  });

  it("are not needed on this machine, whose name no other site may borrow", () => {
    for (const host of ["localhost:7350", "127.0.0.1", "127.8.0.1:1", "[::1]:7350"])
      expect(foreign(host, undefined), host).toBeNull();
    for (const host of [undefined, "", "example.org", "localhost.example.org:7350", "128.0.0.1", "0.0.0.0"])
      expect(foreign(host, undefined)?.kind, host).toBe("foreign");
    for (const origin of ["null", "https://example.org", "http://localhost.example.org", "file://"])
      expect(foreign("localhost", origin)?.kind, origin).toBe("foreign");
    expect(foreign("localhost", "http://127.0.0.1:3000")).toBeNull();
    expect(["0.0.0.0", "::", "192.168.1.1", "example.org"].some(isLoopback)).toBe(false);
  });
});

/** Every kind of every error that a request can meet: a new kind does not compile until it is here. */
const API: Record<Exclude<ApiErrorKind, "settings">, number> = {
  unauthenticated: 401,
  forbidden: 403,
  foreign: 403,
  request: 400,
  "key-reused": 422,
  "in-progress": 409,
  running: 409,
  streams: 429,
};
const PAGE: Record<PageErrorKind, number> = { cursor: 422, limit: 400, filter: 400 };
const STORE: Record<StoreErrorKind, number> = {
  missing: 404,
  conflict: 409,
  invalid: 400,
  unreachable: 503,
  timeout: 503,
  busy: 503,
  "disk-full": 503,
  "newer-schema": 503,
  fenced: 503,
};
const ARTIFACT: Record<ArtifactErrorKind, number> = {
  missing: 410,
  damaged: 500,
  reference: 500,
  "disk-full": 503,
  unwritable: 503,
  unreachable: 503,
  settings: 500,
};
const SETTINGS: Record<SettingsErrorKind, number> = {
  syntax: 422,
  "missing-file": 422,
  "unknown-key": 422,
  missing: 422,
  "wrong-type": 422,
  "impossible-value": 422,
};
const STEERING: Record<SteeringErrorKind, number> = { ended: 409, refused: 422, unreachable: 503 };
const REPLAY: Record<ReplayErrorKind, number> = { missing: 404, running: 409, request: 422 };
const SCHEDULE: Record<ScheduleErrorKind, number> = { missing: 404, conflict: 409, input: 422 };
const STACK: Record<StackErrorKind, number> = {
  settings: 503,
  port: 503,
  "data-folder": 503,
  version: 503,
  disk: 503,
  unreachable: 503,
  missing: 503,
  failed: 503,
  "not-running": 503,
};
const ENVIRONMENT: Record<EnvironmentErrorKind, number> = {
  unknown: 422,
  "no-source": 500,
  catalogue: 500,
  install: 500,
  "tests-fail": 500,
  unstable: 500,
  "source-copy": 500,
  history: 500,
  "in-use": 500,
  missing: 500,
  damaged: 500,
};

function each<Kind extends string>(
  statuses: Record<Kind, number>,
  make: (kind: Kind) => Error,
): (readonly [string, Error, number])[] {
  return Object.entries<number>(statuses).map(([kind, status]) => {
    const error = make(kind as Kind);
    return [`${error.name}.${kind}`, error, status];
  });
}
const details = {
  file: "experiment",
  field: "climb.updates",
  line: null,
  found: "many",
  expected: "a number",
};

describe("problems", () => {
  it.each([
    ...each(API, (kind) => new ApiError(kind, "why", "name")),
    ...each(PAGE, (kind) => new PageError(kind, "why")),
    ...each(STORE, (kind) => new StoreError(kind, "why")),
    ...each(ARTIFACT, (kind) => new ArtifactError(kind, "why")),
    ...each(SETTINGS, (kind) => new SettingsError(kind, details)),
    ...each(STEERING, (kind) => new SteeringError(kind, "why")),
    ...each(REPLAY, (kind) => new ReplayError(kind, "why")),
    ...each(SCHEDULE, (kind) => new ScheduleError(kind, "why", { field: "cron" })),
    ...each(STACK, (kind) => new StackError(kind, "why")),
    ...each(ENVIRONMENT, (kind) => new EnvironmentError(kind, "why")),
  ])("%s", (_, error, status) => {
    const { kind, field } = error as Error & { kind: string; field?: string };
    expect(problemOf(error)).toEqual({
      type: "about:blank",
      title: expect.stringMatching(/^(?!Error$)\w/),
      status,
      kind,
      detail: error.message,
      ...(field ? { field } : {}),
    });
  });

  it("of anything else say nothing of its cause", () => {
    const password = "postgres://user:password@host/db";
    for (const thrown of [new Error(password), new TypeError("x is not a function"), password, null])
      expect(problemOf(thrown)).toMatchObject({
        status: 500,
        kind: "internal",
        detail: expect.not.stringMatching(/password|function/),
      });
  });

  it("that pass with time say when to come again", () => {
    const again = (error: Error) => retryAfter(problemOf(error));
    expect(again(new StoreError("unreachable", ""))).toBeGreaterThan(0);
    expect(again(new ApiError("streams", ""))).toBeGreaterThan(0);
    expect(again(new ApiError("in-progress", ""))).toBeGreaterThan(0);
    expect(again(new ApiError("running", ""))).toBeNull();
    expect(again(new StoreError("missing", ""))).toBeNull();
  });
});
