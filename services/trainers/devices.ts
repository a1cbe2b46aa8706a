/** The NVIDIA devices that a trainer of this machine may use, as its driver lists them. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

export interface Device {
  readonly index: number;
  readonly uuid: string;
  readonly name: string;
  readonly memoryMb: number;
}

/** https://docs.nvidia.com/deploy/nvidia-smi/index.html: `--query-gpu`, memory in MiB without units. */
const QUERY = ["--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits"];

/** A driver that does not answer in this time is stuck. */
const TIMEOUT_MS = 30_000;

/** Lines of the query above. What is no such line is left out: nvidia-smi says "No devices were found" with exit code 0 or 6. */
export function parseDevices(csv: string): Device[] {
  return csv.split("\n").flatMap((line) => {
    const [index = "", uuid = "", name = "", memory = ""] = line.split(",").map((field) => field.trim());
    const memoryMb = Number(memory);
    return /^\d+$/.test(index) && memory !== "" && Number.isFinite(memoryMb)
      ? [{ index: Number(index), uuid, name, memoryMb }]
      : [];
  });
}

/**
 * Those that CUDA shows to a program: by index or the beginning of a UUID, in the order given, up to the first that names none.
 * https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html (CUDA_VISIBLE_DEVICES)
 */
export function visibleDevices(devices: readonly Device[], visible: string | undefined): readonly Device[] {
  if (visible === undefined) return devices;
  const shown: Device[] = [];
  for (const each of visible.split(",").map((text) => text.trim())) {
    const device = devices.find(
      ({ index, uuid }) => String(index) === each || (/^GPU-/.test(each) && uuid.startsWith(each)),
    );
    if (device === undefined) break;
    shown.push(device);
  }
  return shown;
}

/** `problem`: why there is none. */
export async function findDevices(
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ readonly devices: readonly Device[]; readonly problem: string | null }> {
  let text: string;
  try {
    text = (await promisify(execFile)("nvidia-smi", QUERY, { env, timeout: TIMEOUT_MS })).stdout;
  } catch (error) {
    const { code, stdout = "", stderr = "" } = error as { code?: unknown; stdout?: string; stderr?: string };
    const said = `${stdout}${stderr}`.trim().split("\n")[0];
    const problem = code === "ENOENT" ? "nvidia-smi is not on PATH" : `nvidia-smi failed: ${said || code}`;
    return { devices: [], problem };
  }
  const all = parseDevices(text);
  const devices = visibleDevices(all, env.CUDA_VISIBLE_DEVICES);
  if (devices.length > 0) return { devices, problem: null };
  const hidden =
    all.length > 0 ? `CUDA_VISIBLE_DEVICES=${env.CUDA_VISIBLE_DEVICES} shows none of them` : null;
  return { devices: [], problem: hidden ?? "nvidia-smi lists no device" };
}
