"""Rows packed one after the other into forward passes. Each keeps its own positions from 0, by which attention tells them apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tadpole_torch.batch import Row
from tadpole_torch.errors import TrainerError


@dataclass(frozen=True)
class Pack:
    """One forward pass of L tokens, of which M are trainable."""

    rows: tuple[int, ...]
    """Indices of the batch's rows in it, in order."""
    input_ids: Tensor
    """[L] int64."""
    position_ids: Tensor
    """[L] int64: each row counts from 0."""
    sources: Tensor
    """[M] int64: where in the pack the distribution of a trainable token stands, one before the token itself."""
    targets: Tensor
    """[M] int64: the trainable tokens' ids."""
    log_q: Tensor
    """[M] float64: nats."""
    advantage: Tensor
    """[M] float64."""

    def to(self, device: torch.device) -> "Pack":
        moved = {name: value.to(device) for name, value in vars(self).items() if isinstance(value, Tensor)}
        return Pack(rows=self.rows, **moved)


def make_packs(rows: Sequence[Row], pack_tokens: int, vocabulary: int) -> list[Pack]:
    """Packs of at most `pack_tokens` tokens in the rows' order; a longer row gets a pack of its own, it is never cut.

    What follows a row's last trainable token changes nothing that is trained and is left out, and so is a row without any.
    Raises TrainerError `batch` for rows that a model of `vocabulary` tokens cannot have sampled.
    """
    packs: list[Pack] = []
    members: list[int] = []
    size = 0
    lengths = [_used_length(index, row, vocabulary) for index, row in enumerate(rows)]
    for index, length in enumerate(lengths):
        if length == 0:
            continue
        if members and size + length > pack_tokens:
            packs.append(_pack(rows, lengths, members))
            members, size = [], 0
        members.append(index)
        size += length
    if members:
        packs.append(_pack(rows, lengths, members))
    return packs


def _used_length(index: int, row: Row, vocabulary: int) -> int:
    """Tokens up to the last trainable one."""
    chosen = np.flatnonzero(row.trainable)
    name = f"batch row {index} ({row.rollout})"
    if row.tokens.max() >= vocabulary:
        at = int(np.argmax(row.tokens >= vocabulary))
        raise TrainerError("batch", f"{name}: tokens[{at}] is {row.tokens[at]}, the model knows the tokens 0 to {vocabulary - 1}")
    if len(chosen) == 0:
        return 0
    if chosen[0] == 0:
        raise TrainerError("batch", f"{name}: trainable[0] is 1, but nothing stands before the first token to sample it from")
    return int(chosen[-1]) + 1


def _pack(rows: Sequence[Row], lengths: Sequence[int], members: Sequence[int]) -> Pack:
    starts = np.concatenate([[0], np.cumsum([lengths[i] for i in members])])[:-1]
    chosen = [np.flatnonzero(rows[i].trainable) for i in members]

    def joined(parts: list[np.ndarray], dtype: torch.dtype) -> Tensor:
        return torch.from_numpy(np.concatenate(parts)).to(dtype)

    return Pack(
        rows=tuple(members),
        input_ids=joined([rows[i].tokens[: lengths[i]] for i in members], torch.int64),
        position_ids=joined([np.arange(lengths[i]) for i in members], torch.int64),
        sources=joined([start + at - 1 for start, at in zip(starts, chosen, strict=True)], torch.int64),
        targets=joined([rows[i].tokens[at] for i, at in zip(members, chosen, strict=True)], torch.int64),
        log_q=joined([rows[i].logprobs[at] for i, at in zip(members, chosen, strict=True)], torch.float64),
        advantage=joined([np.full(len(at), rows[i].advantage) for i, at in zip(members, chosen, strict=True)], torch.float64),
    )
