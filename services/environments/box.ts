/** What a box of an environment is made of, whoever opens it and whatever for. */
import type { SandboxSpec } from "../sandbox/runtime.ts";
import type { PreparedEnvironment } from "./types.ts";

/** `mounts` are all of the box's; absent = the environment's own. */
export function boxSpec(
  { root, image, mounts, env }: Pick<PreparedEnvironment, "root" | "image" | "mounts" | "env">,
  given: Pick<SandboxSpec, "overlay" | "limits"> & Partial<Pick<SandboxSpec, "mounts">>,
): SandboxSpec {
  return { root, ...(image && { image }), mounts, env, ...given };
}
