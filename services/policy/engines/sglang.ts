/**
 * Weights into SGLang: routes in `python/sglang/srt/entrypoints/http_server.py`, what they do in `managers/tokenizer_manager.py` and
 * `managers/io_struct.py` (https://github.com/sgl-project/sglang, 0.5.23).
 *
 * It has no pause that waits: `abort` ends turns in progress, `retract` takes them back and computes them anew afterwards. So `finish` first
 * waits until the cache can be flushed, which it can only while no turn runs. A turn that slips in between is aborted, which its caller retries.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { PolicyError } from "../client.ts";
import { PROBE } from "../reply.ts";
import { createSglangEngine } from "../sglang.ts";
import { caller, type DriverOptions, type EngineDriver, LIMITS, loadingName, OUT_NAME } from "./driver.ts";

const POLL_MS = 250;

export function createSglangDriver(options: DriverOptions): EngineDriver {
  const limits = { ...LIMITS, ...options.limits };
  const call = caller("sglang", options, limits, "version 0.5.23");
  const client = createSglangEngine({
    url: options.url,
    apiKeyEnv: options.apiKeyEnv,
    timeoutSeconds: limits.canary,
    questionSeconds: limits.question,
  });
  const { onPublish } = options;

  /** Status 400 = a turn is in progress. */
  const flushed = async (seconds: number, signal?: AbortSignal): Promise<void> => {
    const until = Date.now() + seconds * 1000;
    for (;;) {
      try {
        await call("/flush_cache", { method: "POST", seconds: limits.question, signal });
        return;
      } catch (error) {
        const busy = error instanceof PolicyError && error.kind === "protocol";
        if (!busy) throw error;
        if (Date.now() > until)
          throw new PolicyError("unreachable", `${options.url}: turns are in progress after ${seconds} s`, {
            cause: error,
          });
      }
      await sleep(POLL_MS, undefined, signal ? { signal } : {});
    }
  };
  // Its default would abort what a retracting pause has kept.
  const name = (version: string, abort: boolean, signal?: AbortSignal) =>
    call("/update_weight_version", { body: { new_version: version, abort_all_requests: abort }, signal });
  const pause = (mode: "abort" | "retract", signal?: AbortSignal) =>
    call("/pause_generation", { body: { mode }, seconds: limits.flush, signal });

  return {
    url: options.url,
    version: async (signal) => {
      const { weight_version: version } = (await call("/model_info", { signal })) as {
        weight_version?: unknown;
      };
      return typeof version === "string" ? version : null;
    },
    pause: async (signal) => {
      if (onPublish === "finish") await flushed(limits.drain, signal);
      await pause(onPublish === "finish" ? "abort" : "retract", signal);
    },
    flush: (signal) => flushed(limits.flush, signal),
    load: async (version, folder, signal) => {
      await name(loadingName(version), false, signal);
      const body = { model_path: folder, weight_version: version, flush_cache: true };
      const { success, message } = (await call("/update_weights_from_disk", {
        body: { ...body, abort_all_requests: false },
        seconds: limits.load,
        signal,
      })) as { success?: unknown; message?: unknown };
      if (success !== true) throw new PolicyError("protocol", `${options.url}: ${message}`);
    },
    resume: async (signal) => {
      await call("/continue_generation", { body: {}, signal });
    },
    canary: async (version, signal) => {
      await client.complete({ ...PROBE, policy: version, ...(signal ? { signal } : {}) });
    },
    retire: async () => {
      await name(OUT_NAME, true).catch(() => undefined);
      await pause("abort").catch(() => undefined);
    },
    checksums: async () => null,
  };
}
