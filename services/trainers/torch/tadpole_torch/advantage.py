"""Advantages of a group's rollouts. Batches carry them already; this is for those who make batches in Python."""

import math
from collections.abc import Sequence
from typing import Literal

Estimator = Literal["group-std-population", "group-std-sample", "no-std", "leave-one-out"]

STD_EPSILON = 1e-6
"""Added to the standard deviation, so that nearly equal rewards do not blow up."""


def advantages(rewards: Sequence[float], estimator: Estimator) -> list[float]:
    """One advantage per reward, in the same order. A group of one has nothing to be compared with: 0.

    `group-std-*`: GRPO, arXiv 2402.03300. `no-std`: Dr. GRPO, arXiv 2503.20783. `leave-one-out`: RLOO, arXiv 2402.14740.
    """
    n = len(rewards)
    if n < 2:
        return [0.0] * n
    total = 0.0
    for reward in rewards:
        total += reward
    if estimator == "leave-one-out":
        return [reward - (total - reward) / (n - 1) for reward in rewards]
    mean = total / n
    if estimator == "no-std":
        return [reward - mean for reward in rewards]
    squares = 0.0
    for reward in rewards:
        squares += (reward - mean) ** 2
    std = math.sqrt(squares / (n - 1 if estimator == "group-std-sample" else n))
    return [(reward - mean) / (std + STD_EPSILON) for reward in rewards]
