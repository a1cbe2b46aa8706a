"""Rows of a batch file as dictionaries of slime's `Sample` (slime/utils/types.py, read at 624b824). Pure, standard library only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class BatchError(ValueError):
    """A batch that slime cannot train on."""


@dataclass(frozen=True)
class Row:
    """One row of docs/batch.md."""

    group: str
    rollout: str
    advantage: float
    reward: float
    raw: int
    tokens: Sequence[int]
    trainable: Sequence[int]
    logprobs: Sequence[float]


def prompt_length(row: Row) -> int:
    """Tokens before the first sampled one; all but the last token where none was sampled, since a response may not be empty."""
    first = next((at for at, flag in enumerate(row.trainable) if flag), len(row.tokens) - 1)
    if first == 0:
        raise BatchError(f"row {row.rollout}: its first token was sampled or is its only one; expected a prompt before it")
    return first


def sample(row: Row, index: int, scale: float, padding: bool = False) -> dict[str, Any]:
    """`tokens` = prompt + response; mask and log-probabilities are of the response alone.

    Each row is a rollout of its own to slime: it counts rollouts, and drops what is more than a step of them (slime/utils/dp_schedule.py).
    """
    start = prompt_length(row)
    response = len(row.tokens) - start
    return {
        "group_index": index,
        "index": index,
        "rollout_id": index,
        "prompt": "",
        "tokens": [int(token) for token in row.tokens],
        "response": "",
        "response_length": response,
        "label": None,
        "reward": 0.0 if padding else float(row.advantage) * scale,
        "loss_mask": [0] * response if padding else [int(flag) for flag in row.trainable[start:]],
        "rollout_log_probs": [float(value) for value in row.logprobs[start:]],
        "weight_versions": [],
        "remove_sample": False,
        "status": "completed",
        "metadata": {"raw_reward": 0.0 if padding else float(row.raw), "padding": padding, "group": row.group, "rollout": row.rollout},
        "spec_info": {},
        "prefix_cache_info": {},
    }


def samples(rows: Sequence[Row], size: int) -> list[dict[str, Any]]:
    """Exactly `size` samples: the rows in their order, then padding that no token is trained on.

    slime divides by its own count of tokens, in which a sample without trainable ones counts as one (slime/backends/megatron_utils/loss.py,
    `num_tokens`). The advantages are scaled by what that adds, so that the loss is Tadpole's mean over the trainable tokens.
    """
    if not rows:
        raise BatchError("the batch has no rows")
    if len(rows) > size:
        raise BatchError(f"the batch has {len(rows)} rows, more than the {size} of a step: slime would drop the last ones silently")
    trained = [sum(int(flag) for flag in row.trainable) for row in rows]
    tokens = sum(trained)
    if tokens == 0:
        raise BatchError("no token of the batch is trainable")
    shortest = min(rows, key=lambda row: len(row.tokens))
    padding = size - len(rows)
    counted = sum(max(1, count) for count in trained) + padding
    scale = counted / tokens
    made = [sample(row, index, scale) for index, row in enumerate(rows)]
    return made + [sample(shortest, len(rows) + at, scale, padding=True) for at in range(padding)]
