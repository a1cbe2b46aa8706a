/** Where the CPU lane keeps what it needs, all of it outside of the checkout (`npm run gpu-path:install`). */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

const folder = resolve(process.env.TADPOLE_GPU_PATH ?? join(homedir(), ".cache/tadpole/gpu-path"));

export const lane = {
  folder,
  python: join(folder, "venv", "bin", "python"),
  vllm: join(folder, "venv", "bin", "vllm"),
  /** Put before Python's path, so that the checkout's own package is used. */
  trainerPackage: resolve(import.meta.dirname, "../../services/trainers/torch"),
} as const;
