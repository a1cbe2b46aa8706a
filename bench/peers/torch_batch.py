"""Saves and loads a batch by torch, once for each line on standard input: `torch_batch.py STEM tensors|lists`.

STEM: raw files of the batch's columns. One dictionary per row, with tensors, or with lists of numbers as slime's samples have them. Prints torch's
version, then {"write", "read", "bytes"} for each line: seconds and the size of the file.
"""

import json
import os
import sys
import time

import numpy
import torch


def column(stem: str, name: str, dtype: str) -> torch.Tensor:
    return torch.from_numpy(numpy.fromfile(f"{stem}.{name}", dtype=dtype))


def rows(stem: str, form: str) -> list[dict]:
    with open(f"{stem}.keys", encoding="utf-8") as file:
        keys = json.load(file)
    offsets = numpy.fromfile(f"{stem}.offsets", dtype="<i4")
    scalars = {name: column(stem, name, "<f8") for name in ("advantage", "reward")}
    raw = column(stem, "raw", "u1")
    lists = {
        "tokens": column(stem, "tokens", "<i4"),
        "trainable": column(stem, "trainable", "u1"),
        "logProbs": column(stem, "logProbs", "<f8"),
    }
    made = []
    for row, (group, rollout) in enumerate(keys):
        start, end = int(offsets[row]), int(offsets[row + 1])
        made.append(
            {
                "group": group,
                "rollout": rollout,
                "advantage": float(scalars["advantage"][row]),
                "reward": float(scalars["reward"][row]),
                "raw": int(raw[row]),
                # A copy: a view would save the whole column with each row.
                **{name: held(values[start:end], form) for name, values in lists.items()},
            }
        )
    return made


def held(values: torch.Tensor, form: str) -> torch.Tensor | list:
    return values.clone() if form == "tensors" else values.tolist()


def same(a: dict, b: dict) -> bool:
    return a.keys() == b.keys() and all(
        torch.equal(value, b[name]) if isinstance(value, torch.Tensor) else value == b[name] for name, value in a.items()
    )


def main() -> None:
    stem, form = sys.argv[1:]
    batch = rows(stem, form)
    path = f"{stem}.{form}.torch"
    print(json.dumps(torch.__version__), flush=True)
    for _ in sys.stdin:
        started = time.perf_counter()
        torch.save(batch, path)
        written = time.perf_counter()
        loaded = torch.load(path, weights_only=form == "tensors")
        ended = time.perf_counter()
        if len(loaded) != len(batch) or not all(map(same, loaded, batch)):
            raise SystemExit("the rows loaded are not the rows saved")
        print(json.dumps({"write": written - started, "read": ended - written, "bytes": os.path.getsize(path)}), flush=True)


main()
