"""Supervised fine-tuning by the code of the updates: several epochs over one batch's trainable tokens, to start a policy off."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from tadpole_torch.batch import read_batch
from tadpole_torch.checkpoint import Trained, incoming, read_trained
from tadpole_torch.errors import TrainerError
from tadpole_torch.loss import LossSettings
from tadpole_torch.optimizer import OptimizerSettings
from tadpole_torch.update import Session, Trainee, check_space, publish


@dataclass(frozen=True)
class WarmupSettings:
    epochs: int
    rows_per_step: int
    seed: int
    """Of the order of rows, which is drawn anew for every epoch."""
    optimizer: OptimizerSettings


def row_order(count: int, epoch: int, seed: int) -> list[int]:
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(count, generator=generator).tolist()


def warm_up(
    parent: Path, batch: Path, out: Path, settings: WarmupSettings, session: Session, say: Callable[[dict[str, object]], None]
) -> Trained:
    """Makes `out` as an update does. `say` gets the mean loss of every epoch, nats per token."""
    key = json.dumps({"warmup": [str(parent), str(batch)], "settings": repr(settings)})
    made = read_trained(out, key)
    if made is not None:
        return made
    rows = read_batch(batch)
    if not rows:
        raise TrainerError("batch", f"{batch}: the batch has no rows")
    with incoming(out) as folder:
        trainee = Trainee(parent, None, session)
        check_space(folder, trainee.bytes_to_save())
        metrics: dict[str, float] = {}
        for epoch in range(settings.epochs):
            order = row_order(len(rows), epoch, settings.seed)
            losses: list[tuple[float, float]] = []
            for at in range(0, len(order), settings.rows_per_step):
                chosen = [rows[index] for index in order[at : at + settings.rows_per_step]]
                metrics = trainee.step(chosen, LossSettings("supervised"), settings.optimizer, lambda done, total: None)
                losses.append((metrics["loss"] * metrics["trainableTokens"], metrics["trainableTokens"]))
            tokens = sum(count for _, count in losses)
            mean = sum(loss for loss, _ in losses) / max(1, tokens)
            say({"epoch": epoch + 1, "loss": mean, "tokens": tokens, "step": trainee.state.step})
        return publish(trainee, folder, out, key, metrics)
