"""Devices, threads and what makes a computation repeatable on them."""

import os
import platform
from dataclasses import dataclass

import torch
import torch.distributed as dist
import transformers

REPEATABLE = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "FLASH_ATTENTION_DETERMINISTIC": "1"}
"""What GPU libraries read before their first use: https://docs.nvidia.com/cuda/cublas/index.html#results-reproducibility, and transformers'
modeling_flash_attention_utils.py."""


@dataclass(frozen=True)
class Place:
    """Where one process of an update computes: rank `rank` of `ranks`."""

    device: torch.device
    rank: int = 0
    ranks: int = 1


def device_names(cpu: bool) -> list[str]:
    """Of the visible GPUs; none = CPU."""
    if cpu or not torch.cuda.is_available():
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def make_repeatable(threads: int | None) -> None:
    """The same update gives the same bytes: on the same devices and library versions, and on CPUs with as many threads."""
    for name, value in REPEATABLE.items():
        os.environ.setdefault(name, value)
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    torch.manual_seed(0)


def environment(place: Place, dtype: str) -> dict[str, object]:
    """What the last bits of an update depend on besides its order."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "device": torch.cuda.get_device_name(place.device) if place.device.type == "cuda" else f"cpu ({platform.machine()})",
        "threads": torch.get_num_threads(),
        "ranks": place.ranks,
        "dtype": dtype,
    }


def join_group(rank: int, ranks: int, cpu: bool) -> Place:
    """This process as one of several; MASTER_ADDR and MASTER_PORT say where they meet."""
    if not cpu:
        torch.cuda.set_device(rank)
    dist.init_process_group("gloo" if cpu else "nccl", rank=rank, world_size=ranks)
    return Place(torch.device("cpu") if cpu else torch.device("cuda", rank), rank, ranks)
