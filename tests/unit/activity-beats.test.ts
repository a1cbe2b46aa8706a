/** What an activity keeps alive while it works, and no longer than Temporal wants it to work. */
import { MockActivityEnvironment } from "@temporalio/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { heartbeating, stoppableBy } from "../../activities/context.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** An activity that counts its beats until `end` is called. */
function beating() {
  let beats = 0;
  let end = () => {};
  const work = () =>
    heartbeating(async ({ withEachBeat }) => {
      withEachBeat(() => beats++);
      await new Promise<void>((resolve) => {
        end = resolve;
      });
    });
  return { work, beats: () => beats, end: () => end() };
}

describe("what is done with each beat", () => {
  it("is done at once, every two seconds, and not after the work", async () => {
    const { work, beats, end } = beating();
    const done = new MockActivityEnvironment().run(work);
    expect(beats()).toBe(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(beats()).toBe(31);
    end();
    await done;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(beats()).toBe(31);
  });

  it("is not done for work that was cancelled and runs on", async () => {
    const { work, beats, end } = beating();
    const environment = new MockActivityEnvironment();
    const done = environment.run(work);
    await vi.advanceTimersByTimeAsync(4000);
    environment.cancel();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(beats()).toBe(3);
    end();
    await done;
  });

  it("is not done for work that a hold stopped", async () => {
    const { work, beats, end } = beating();
    const stop = new AbortController();
    const done = new MockActivityEnvironment().run(() => stoppableBy(stop.signal, work));
    stop.abort();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(beats()).toBe(1);
    end();
    await done;
  });
});
