/** Which failures of activities Temporal tries again: those that another try can mend, and no others. */
import { ApplicationFailure, CancelledFailure } from "@temporalio/activity";
import { describe, expect, it } from "vitest";
import { toFailure } from "../../activities/context.ts";
import { failureType, NOT_RETRIED } from "../../core/failures.ts";
import { EnvironmentError } from "../../services/environments/index.ts";
import { PolicyError } from "../../services/policy/client.ts";
import { CheckpointError } from "../../services/policy/nano/checkpoint.ts";
import { SandboxError } from "../../services/sandbox/runtime.ts";
import { ArtifactError, StoreError } from "../../services/store/index.ts";
import { SynthesisError } from "../../services/synthesis/index.ts";
import { BatchError } from "../../services/trainers/batch.ts";
import { TrainerError } from "../../services/trainers/errors.ts";

interface Case {
  readonly kind: string;
  readonly error: Error;
  readonly again: boolean;
}

/** One error of each kind of a class; the type of `again` has a new kind fail to compile until it is listed. */
function cases<Kind extends string>(
  ErrorClass: new (kind: Kind, message: string) => Error,
  again: Readonly<Record<Kind, boolean>>,
): Case[] {
  return (Object.keys(again) as Kind[]).map((kind) => ({
    kind,
    error: new ErrorClass(kind, "text"),
    again: again[kind],
  }));
}

const all = [
  ...cases(EnvironmentError, {
    unknown: false,
    "no-source": false,
    catalogue: false,
    install: true,
    "tests-fail": false,
    unstable: false,
    "source-copy": false,
    history: false,
    "in-use": false,
    missing: false,
    damaged: false,
  }),
  ...cases(StoreError, {
    unreachable: true,
    timeout: true,
    busy: true,
    "disk-full": true,
    fenced: true,
    "newer-schema": false,
    conflict: false,
    invalid: false,
    missing: false,
  }),
  ...cases(ArtifactError, {
    "disk-full": true,
    unwritable: true,
    unreachable: true,
    missing: false,
    damaged: false,
    reference: false,
    settings: false,
  }),
  ...cases(PolicyError, {
    context: true,
    aborted: true,
    unreachable: true,
    protocol: true,
    "not-served": true,
    capability: false,
  }),
  ...cases(SandboxError, {
    unavailable: true,
    boot: true,
    lost: true,
    busy: true,
    path: true,
    disk: true,
    destroyed: true,
  }),
  ...cases(SynthesisError, { infrastructure: true, cancelled: true }),
  ...cases(TrainerError, {
    batch: false,
    model: false,
    diverged: true,
    memory: true,
    disk: true,
    collective: true,
    stalled: true,
    untrained: true,
    dead: true,
  }),
  ...cases(BatchError, { format: false, row: false }),
  ...cases(CheckpointError, { truncated: false, format: false, version: false, "not-finite": true }),
];

const named = (again: boolean) =>
  all.filter((one) => one.again === again).map((one) => [one.error.name, one.kind, one.error] as const);

describe("a failure of an activity", () => {
  it.each(named(false))("is final for %s %s", (_name, _kind, error) => {
    const failure = toFailure(error);
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect(failure).toMatchObject({
      message: error.message,
      type: "BadInput",
      nonRetryable: true,
      cause: error,
    });
    expect(NOT_RETRIED).toContain("BadInput");
  });

  it.each(named(true))("is tried again for %s %s", (_name, _kind, error) => {
    const type = failureType(error);
    expect(toFailure(error)).toMatchObject({ message: error.message, type, nonRetryable: false });
    expect(NOT_RETRIED).not.toContain(type);
  });

  it("is tried again for an error without a kind", () => {
    expect(toFailure(new TypeError("text"))).toMatchObject({ type: "Internal", nonRetryable: false });
  });

  it("stays what it is where it already is one of Temporal's", () => {
    for (const failure of [
      ApplicationFailure.create({ type: "Infrastructure" }),
      new CancelledFailure("text"),
    ])
      expect(toFailure(failure)).toBe(failure);
  });
});
