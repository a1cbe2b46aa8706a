"""Log-probabilities of a batch's trainable tokens, to be compared with those that an inference server gave for the same weights."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from tadpole_torch.batch import Row
from tadpole_torch.model import DTYPES, load_scorer
from tadpole_torch.packing import make_packs
from tadpole_torch.update import Session


@torch.no_grad()
def log_probs(model: Path, rows: Sequence[Row], session: Session) -> Iterator[tuple[int, list[float]]]:
    """Index and log p (nats) of the trainable tokens, row by row; rows without any are left out."""
    scorer = load_scorer(model, DTYPES[session.dtype], session.place.device, gradient_checkpointing=False)
    vocabulary = scorer.model.config.get_text_config().vocab_size
    for pack in make_packs(rows, session.pack_tokens, vocabulary):
        moved = pack.to(session.place.device)
        values = scorer(moved.input_ids, moved.position_ids, moved.sources, moved.targets)[0].tolist()
        for index in pack.rows:
            count = int(rows[index].trainable.sum())
            yield index, values[:count]
            values = values[count:]


def agreement(rows: Sequence[Row], scored: Sequence[tuple[int, list[float]]]) -> dict[str, float]:
    """How far log p is from the batch's recorded log q, over all trainable tokens: nats."""
    differences = [
        abs(p - q)
        for index, values in scored
        for p, q in zip(values, rows[index].logprobs[rows[index].trainable == 1].tolist(), strict=True)
    ]
    count = len(differences)
    return {
        "tokens": count,
        "meanDifference": math.fsum(differences) / count if count else 0.0,
        "maxDifference": max(differences, default=0.0),
    }
