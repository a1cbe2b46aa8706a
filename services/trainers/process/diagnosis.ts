/**
 * Why a trainer process made no checkpoint, told from outside: by how it ended and by what it printed. What the libraries print is no interface, so
 * each pattern names where it was seen; what none of them matches is `dead`, which is tried again.
 */
import { TrainerError, type TrainerErrorKind } from "../errors.ts";
import { lastLines } from "./log.ts";

export interface Ending {
  /** Exit code of the process, 128 + signal where one ended it; null = nobody knows. */
  readonly code: number | null;
  /** What it printed, as far back as it is kept. */
  readonly log: string;
  /** Why its folder is not believed; null = it left none. */
  readonly broken: string | null;
}

interface Pattern {
  readonly kind: TrainerErrorKind;
  readonly says: RegExp;
}

/**
 * Most particular first: a rank that ran out of memory, of numbers or of disk makes all others time out, and a device that is out of memory shows as an
 * error of NCCL too.
 */
const PATTERNS: readonly Pattern[] = [
  // https://github.com/pytorch/pytorch/issues/16417
  { kind: "memory", says: /OutOfMemoryError|CUDA(?: error:)? out of memory|CUBLAS_STATUS_ALLOC_FAILED/ },
  // https://github.com/pytorch/pytorch/pull/20618
  { kind: "memory", says: /DefaultCPUAllocator: (?:can't allocate|not enough) memory/ },
  { kind: "memory", says: /^MemoryError\b|: MemoryError\b/m },
  // https://github.com/NVIDIA/nccl/issues/1235
  { kind: "memory", says: /Cuda failure (?:\d+ )?'out of memory'/ },
  // https://docs.python.org/3/library/errno.html, https://github.com/hiyouga/LlamaFactory/issues/5155
  { kind: "disk", says: /No space left on device|Disk quota exceeded|kind: StorageFull/ },
  // torch.save on a full disk: https://github.com/zai-org/ChatGLM-6B/issues/1166
  { kind: "disk", says: /PytorchStreamWriter failed writing file .*: file write failed/ },
  // https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html (error_if_nonfinite)
  { kind: "diverged", says: /total norm .* is non-finite, so it cannot be clipped/ },
  // https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
  { kind: "diverged", says: /returned nan values in its \d+th output/ },
  // Megatron: https://github.com/NVIDIA/Megatron-LM/issues/780
  { kind: "diverged", says: /found NaN in local (?:grad norm|forward loss)|Unexpected result (?:nan|inf)\b/ },
  // https://github.com/pytorch/pytorch/issues/118369
  { kind: "collective", says: /Watchdog caught collective operation timeout/ },
  // https://github.com/NVIDIA/nccl/issues/934, https://github.com/pytorch/pytorch/pull/88134
  {
    kind: "collective",
    says: /DistBackendError|DistNetworkError|DistStoreError|nccl(?:Remote|System|Internal)Error/,
  },
  // https://github.com/pytorch/pytorch/issues/75512
  {
    kind: "collective",
    says: /gloo\/transport\/.*(?:Connection closed by peer|Connection reset by peer|Timed out)/,
  },
];

/** What a text of PyTorch, NCCL, Megatron or the system says; null where it says nothing known. */
export function recognise(text: string): { readonly kind: TrainerErrorKind; readonly line: string } | null {
  for (const { kind, says } of PATTERNS) {
    const found = says.exec(text);
    if (found === null) continue;
    const from = text.lastIndexOf("\n", found.index) + 1;
    const end = text.indexOf("\n", found.index);
    return { kind, line: lastLines(text.slice(from, end < 0 ? undefined : end))[0] ?? found[0] };
  }
  return null;
}

/** Of a process that ended without a checkpoint that can be believed. An exit code says how it ended, never that it trained. */
export function diagnose({ code, log, broken }: Ending): TrainerError {
  if (broken !== null)
    return failure("untrained", `the trainer left a checkpoint that is not whole: ${broken}`, log);
  if (code === 0)
    return failure("untrained", "the trainer ended with exit code 0 and left no checkpoint", log);
  const known = recognise(log);
  if (known !== null) return failure(known.kind, `the trainer ended (${how(code)}): ${known.line}`, log);
  return failure("dead", `the trainer ended (${how(code)})`, log);
}

function how(code: number | null): string {
  if (code === null) return "nobody saw how";
  if (code === 137) return "SIGKILL: by hand, or by a kernel that ran out of memory";
  if (code > 128) return `signal ${code - 128}`;
  return `exit code ${code}`;
}

/** With the last lines of the log: they are on the trainer's machine, and whoever reads this may not be. */
export function failure(kind: TrainerErrorKind, message: string, log: string): TrainerError {
  const lines = lastLines(log);
  return new TrainerError(
    kind,
    lines.length === 0 ? message : [`${message}; it printed last:`, ...lines].join("\n"),
  );
}
