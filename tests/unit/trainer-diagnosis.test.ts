/** Why a trainer process made no checkpoint, by how it ended and what the libraries print; and what of it may be shown. */
import { describe, expect, it } from "vitest";
import { failureRule, failureType } from "../../core/failures.ts";
import { diagnose, recognise } from "../../services/trainers/process/diagnosis.ts";
import { lastLines, withoutSecrets } from "../../services/trainers/process/log.ts";
import { median, patience } from "../../services/trainers/process/watchdog.ts";

/** Written after what the libraries print; the pages beside the patterns (diagnosis.ts) show the originals. */
const LOGS = {
  "a device out of memory": [
    "memory",
    `step 3 of 16
Traceback (most recent call last):
  File "/opt/trainer/update.py", line 88, in backward
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.86 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free.`,
  ],
  "an older PyTorch out of memory": [
    "memory",
    "RuntimeError: CUDA out of memory. Tried to allocate 64.00 MiB (GPU 0; 10.92 GiB total capacity)",
  ],
  "a driver out of memory": ["memory", "RuntimeError: CUDA error: out of memory"],
  "a machine out of memory": [
    "memory",
    "RuntimeError: [enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 34359738368 bytes. Error code 12 (Cannot allocate memory)",
  ],
  "Python out of memory": ["memory", "Traceback (most recent call last):\nMemoryError"],
  "NCCL on a device out of memory": [
    "memory",
    `node1:393:801 [3] include/alloc.h:178 NCCL WARN Cuda failure 2 'out of memory'
torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, unhandled cuda error`,
  ],
  "a rank out of memory while the others wait": [
    "memory",
    `[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB.
[rank0]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7753, OpType=_REDUCE_SCATTER_BASE, Timeout(ms)=600000) ran for 600061 milliseconds before timing out.`,
  ],
  "a full disk": ["disk", "OSError: [Errno 28] No space left on device: 'made/ab/model/model.safetensors'"],
  "a spent quota": ["disk", "OSError: [Errno 122] Disk quota exceeded"],
  "safetensors on a full disk": [
    "disk",
    'safetensors_rust.SafetensorError: Error while serializing: IoError(Os { code: 28, kind: StorageFull, message: "" })',
  ],
  "torch.save on a full disk": [
    "disk",
    "RuntimeError: [enforce fail at inline_container.cc:659] . PytorchStreamWriter failed writing file data/176: file write failed",
  ],
  "a norm that is not finite": [
    "diverged",
    "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped.",
  ],
  "anomaly detection": [
    "diverged",
    "RuntimeError: Function 'LogSoftmaxBackward0' returned nan values in its 0th output.",
  ],
  "Megatron's check of gradients": [
    "diverged",
    "RuntimeError: Rank 2, node n1, device 2, iteration 4: Unexpected result nan (message='found NaN in local grad norm for bucket #0 in backward pass before data-parallel communication collective')",
  ],
  "a collective that timed out": [
    "collective",
    "[rank1]:[E801 07:00:12 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=96, OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.",
  ],
  "a rank that is gone": [
    "collective",
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
  ],
  "gloo without its peer": [
    "collective",
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.7]:28048",
  ],
  "an error nobody knows": [null, "KeyError: 'input_ids'"],
  "a line that only speaks of memory": [null, "peak memory 61.2 GiB, 17.9 GiB free"],
} as const;

describe("what a trainer printed", () => {
  it.each(Object.entries(LOGS))("tells %s", (_, [kind, log]) => {
    expect(recognise(log)?.kind ?? null).toBe(kind);
  });

  it("is quoted by the line that tells it", () => {
    expect(recognise(LOGS["a device out of memory"][1])?.line).toMatch(/^torch\.OutOfMemoryError: CUDA/);
  });
});

describe("a process that ended without a checkpoint", () => {
  const quiet = { log: "", broken: null };

  it("is untrained where it ended in order, whatever it printed", () => {
    const log = "OSError: [Errno 28] No space left on device";
    expect(diagnose({ ...quiet, code: 0, log }).kind).toBe("untrained");
  });

  it("is untrained where its folder is not what its marker says", () => {
    const error = diagnose({ ...quiet, code: 1, broken: "model/a.safetensors is missing" });
    expect(error.kind).toBe("untrained");
    expect(error.message).toContain("model/a.safetensors is missing");
  });

  it.each([
    [1, "exit code 1"],
    [137, "SIGKILL"],
    [139, "signal 11"],
    [null, "nobody saw how"],
  ])("is dead otherwise: %s", (code, text) => {
    const error = diagnose({ ...quiet, code });
    expect(error.kind).toBe("dead");
    expect(error.message).toContain(text);
  });

  it.each([
    ["memory", { retried: true, holds: true, spendsBudget: false }],
    ["disk", { retried: true, holds: true, spendsBudget: false }],
    ["diverged", { retried: true, holds: true, spendsBudget: false }],
    ["collective", { retried: true, holds: false, spendsBudget: true }],
  ])("has the rule of its kind: %s", (kind, rule) => {
    const [, log] = Object.values(LOGS).find(([of]) => of === kind)!;
    expect(failureRule(failureType(diagnose({ ...quiet, code: 1, log })))).toMatchObject(rule);
  });

  it.each(["untrained", "dead"] as const)("is tried again on the budget of its work: %s", (kind) => {
    const error = diagnose({ ...quiet, code: kind === "dead" ? 1 : 0 });
    expect(failureRule(failureType(error))).toMatchObject({
      retried: true,
      spendsBudget: true,
      holds: false,
    });
  });
});

describe("the last lines of a log", () => {
  it("are few, short, plain, and without what is secret", () => {
    const log = [
      ...Array.from({ length: 40 }, (_, line) => `line ${line}`),
      "\u001b[31mred\u001b[0m",
      "1 %\r2 %",
      "x".repeat(1000),
      "postgres://tadpole:hunter2@db/x and Authorization: Bearer abc.def",
      "HF_TOKEN=hf_0123456789abcdef api_key: 'sesame'",
    ].join("\n");
    const lines = lastLines(log);
    expect(lines).toHaveLength(12);
    expect(Math.max(...lines.map((line) => line.length))).toBe(240);
    expect(lines).toContain("red");
    expect(lines.slice(-2)).toEqual([
      "postgres://…@db/x and Authorization: Bearer …",
      "HF_TOKEN=… api_key: '…'",
    ]);
  });

  it("hold none of the worker's secrets: the trainer is not given them", () => {
    const env = { PATH: "/bin", HF_TOKEN: "a", AWS_SECRET_ACCESS_KEY: "b", DATABASE_URL: "c", TINY: "d" };
    expect(withoutSecrets(env)).toEqual({ PATH: "/bin", TINY: "d" });
  });
});

describe("the watchdog", () => {
  const limits = { quietSeconds: 600, leastSeconds: 10, medians: 20 };
  const working = { done: 3, total: 8 };

  it("waits for a multiple of the median step, in the middle of the steps", () => {
    expect(median([4, 1, 100])).toBe(4);
    expect(median([1, 3])).toBe(2);
    expect(patience(working, [2, 1, 2, 30], limits)).toBe(40);
    expect(patience(working, [0.1, 0.1, 0.1], limits)).toBe(10);
    expect(patience(working, [100, 100, 100], limits)).toBe(600);
  });

  it("waits longer before the first step, after the last, and while it knows no median", () => {
    const steps = [2, 2, 2];
    expect(patience({ done: 0, total: 0 }, steps, limits)).toBe(600);
    expect(patience({ done: 8, total: 8 }, steps, limits)).toBe(600);
    expect(patience(working, [2, 2], limits)).toBe(600);
  });
});
