/**
 * Weights into vLLM, by its routes of development mode: `vllm/entrypoints/rl/online/api_router.py` (pause, resume, versions, checksums),
 * `vllm/entrypoints/serve/dev/{cache,rpc}/api_router.py`; what pausing does: `vllm/v1/engine/core.py`, `pause_scheduler`; what loading does:
 * `vllm/model_executor/model_loader/reload/inplace.py` (https://github.com/vllm-project/vllm, 0.32).
 *
 * A paused engine queues what it is asked and answers it after `/resume`, with the new weights. Its version is a name that only
 * `/update_weight_version` changes: loading alone, whole or half, leaves the old one standing.
 */
import { PolicyError } from "../client.ts";
import { PROBE } from "../reply.ts";
import { createVllmEngine } from "../vllm.ts";
import { caller, type DriverOptions, type EngineDriver, LIMITS, loadingName, OUT_NAME } from "./driver.ts";

export function createVllmDriver(options: DriverOptions): EngineDriver {
  const limits = { ...LIMITS, ...options.limits };
  const call = caller("vllm", options, limits, "VLLM_SERVER_DEV_MODE=1 in its environment, and version 0.32");
  const client = createVllmEngine({
    url: options.url,
    apiKeyEnv: options.apiKeyEnv,
    timeoutSeconds: limits.canary,
    questionSeconds: limits.question,
  });
  const { onPublish } = options;
  const post = (path: string, seconds: number, signal?: AbortSignal) =>
    call(path, { method: "POST", seconds, signal });
  const name = (version: string, signal?: AbortSignal) =>
    call("/update_weight_version", { body: { new_version: version }, signal });

  return {
    url: options.url,
    version: async (signal) => {
      const { weight_version: version } = (await call("/weight_info", { signal })) as {
        weight_version?: unknown;
      };
      return typeof version === "string" ? version : null;
    },
    pause: async (signal) => {
      await (onPublish === "finish"
        ? post("/pause?mode=wait", limits.drain, signal)
        : post("/pause?mode=keep", limits.question, signal));
    },
    flush: async (signal) => {
      // Turns that were kept are computed anew from their tokens, by the new weights.
      const running = onPublish === "continue" ? "?reset_running_requests=true" : "";
      const reply = (await post(`/reset_prefix_cache${running}`, limits.flush, signal)) as {
        success?: unknown;
      } | null;
      if (reply?.success !== true)
        throw new PolicyError("unreachable", `${options.url}: its prefix cache is in use still`);
    },
    load: async (version, folder, signal) => {
      await name(loadingName(version), signal);
      const body = { method: "reload_weights", kwargs: { weights_path: folder } };
      await call("/collective_rpc", { body, seconds: limits.load, signal });
      await name(version, signal);
    },
    resume: async (signal) => {
      await post("/resume", limits.question, signal);
    },
    canary: async (version, signal) => {
      await client.complete({ ...PROBE, policy: version, ...(signal ? { signal } : {}) });
    },
    retire: async () => {
      await name(OUT_NAME).catch(() => undefined);
      await post("/pause?mode=abort", limits.question).catch(() => undefined);
    },
    checksums: async (signal) => {
      const body = { action: "checksum" };
      const { checksums } = (await call("/weight_checker", { body, seconds: limits.load, signal })) as {
        checksums: Record<string, string>;
      };
      return checksums;
    },
  };
}
