"""One update: a parent's folder, its optimizer state, a batch and settings to a new folder, applied once."""

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tadpole_torch import fsdp
from tadpole_torch.batch import Row, read_batch
from tadpole_torch.checkpoint import Trained, appear, incoming, read_trained
from tadpole_torch.device import Place, environment
from tadpole_torch.errors import TrainerError
from tadpole_torch.folder import copy_companions, files_below
from tadpole_torch.loss import LossSettings, LossSums, loss_terms
from tadpole_torch.model import DTYPES, load_scorer
from tadpole_torch.optimizer import OptimizerSettings, OptimizerState, adamw_step, fresh_state, load_state, save_state
from tadpole_torch.packing import Pack, make_packs
from tadpole_torch.settings import loss_settings, optimizer_settings
from tadpole_torch.weights import Weights

Progress = Callable[[int, int], None]
"""Rows done and in all."""

SHARD_SIZE = "5GB"


@dataclass(frozen=True)
class Session:
    """What a process trains with, for as long as it lives."""

    dtype: str
    pack_tokens: int
    gradient_checkpointing: bool
    place: Place


@dataclass(frozen=True)
class Order:
    """`UpdateOrder` of the protocol."""

    key: str
    parent: Path
    optimizer: Path | None
    batch: Path
    out: Path
    loss: LossSettings
    steps: OptimizerSettings


def parse_order(given: Mapping[str, Any]) -> Order:
    """Raises TrainerError naming the first field that is missing or wrong."""
    for name in ("key", "parent", "batch", "out"):
        if not isinstance(given.get(name), str) or given[name] == "":
            raise TrainerError("internal", f"update: {name} is {given.get(name)!r}, expected a string")
    settings = given.get("settings")
    if not isinstance(settings, Mapping):
        raise TrainerError("internal", "update: settings is missing, expected an object with loss and optimizer")
    return Order(
        key=given["key"],
        parent=Path(given["parent"]),
        optimizer=None if given.get("optimizer") is None else Path(given["optimizer"]),
        batch=Path(given["batch"]),
        out=Path(given["out"]),
        loss=loss_settings(settings.get("loss", {})),
        steps=optimizer_settings(settings.get("optimizer", {})),
    )


class Trainee:
    """A model in memory with its optimizer."""

    def __init__(self, parent: Path, optimizer: Path | None, session: Session) -> None:
        self.parent = parent
        self.session = session
        place, dtype = session.place, DTYPES[session.dtype]
        sharded = place.ranks > 1
        scorer = load_scorer(parent, torch.float32 if sharded else dtype, place.device, session.gradient_checkpointing)
        self.scorer = scorer
        self.vocabulary: int = scorer.model.config.get_text_config().vocab_size
        self.state: OptimizerState
        if sharded:
            # Read before the tensors are split: every rank takes its shards of the same whole.
            whole = {name: each.data for name, each in scorer.model.named_parameters()}
            loaded = fresh_state(whole) if optimizer is None else load_state(optimizer, whole)
            self.weights: Weights | fsdp.ShardedWeights = fsdp.ShardedWeights(scorer, dtype, place)
            self.state = fsdp.shard_state(loaded, self.weights.masters)
        else:
            self.weights = Weights(scorer)
            self.state = fresh_state(self.weights.masters) if optimizer is None else load_state(optimizer, self.weights.masters)
            self.weights.store()

    def step(self, rows: Sequence[Row], loss: LossSettings, settings: OptimizerSettings, progress: Progress) -> dict[str, float]:
        """One optimizer step on the rows; its metrics. Nothing of it is on disk yet."""
        place = self.session.place
        packs = make_packs(rows, self.session.pack_tokens, self.vocabulary)
        tokens = sum(len(pack.targets) for pack in packs)
        own = fsdp.share_of(packs, place) if place.ranks > 1 and packs else packs
        sums = LossSums()
        self.weights.clear()
        for done, pack in enumerate(own, start=1):
            self._pass(pack.to(place.device), loss, tokens, sums)
            progress(len(rows) * done // len(own), len(rows))
        if place.ranks > 1:
            sums = fsdp.add_up(sums, place)
        metrics = sums.finish(tokens)
        _check_finite(metrics)
        norm = adamw_step(self.weights.masters, self.weights.gradients(), self.state, settings)
        self.weights.store()
        return {**metrics, "gradientNorm": norm}

    def _pass(self, pack: Pack, loss: LossSettings, tokens: int, sums: LossSums) -> None:
        """Forward and backward of one pack; |T| is the whole batch's, so that the gradients of all packs add up."""
        log_p, entropy = self.scorer(pack.input_ids, pack.position_ids, pack.sources, pack.targets)
        if not math.isfinite(float(log_p.detach().sum())):
            # A mask would drop such a token, and hide it.
            raise TrainerError("diverged", "log-probabilities of the parent's weights are not finite")
        terms = loss_terms(log_p, pack.log_q, pack.advantage, loss)
        sums.add(terms, float(entropy.double().sum()))
        (-terms.surrogate / max(1, tokens)).backward()

    def save(self, folder: Path) -> None:
        """`model/` and `optimizer/` below the folder. All ranks take part, the first one writes."""
        state = self.weights.model_state()
        moments = OptimizerState(self.weights.whole(self.state.moment1), self.weights.whole(self.state.moment2), self.state.step)
        masters = self.weights.whole(self.weights.masters) if self.weights.rounded else None
        if self.session.place.rank > 0:
            return
        model = folder / "model"
        self.scorer.model.save_pretrained(model, state_dict=state, max_shard_size=SHARD_SIZE)
        for name in ("config.json", "generation_config.json"):
            (model / name).unlink(missing_ok=True)
        copy_companions(self.parent, model, self.session.dtype)
        save_state(folder / "optimizer", moments, masters)
        for path in files_below(folder):
            # safetensors makes files that no other user may read, such as an engine's.
            path.chmod(0o644)

    def bytes_to_save(self) -> int:
        """Of weights and optimizer state, all ranks together."""
        count = sum(weight.numel() for weight in self.weights.masters.values())
        per_weight = 2 + 12 if self.weights.rounded else 4 + 8
        return count * per_weight


def _check_finite(metrics: Mapping[str, float]) -> None:
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise TrainerError("diverged", f"{name} is {value}, expected a finite number")


def run_update(order: Order, session: Session, progress: Progress) -> Trained:
    """Makes `order.out`, or finds it made. The same order gives the same files; the parent is left as it is."""
    made = read_trained(order.out, order.key)
    if made is not None:
        return made
    rows = read_batch(order.batch)
    if not rows:
        raise TrainerError("batch", f"{order.batch}: the batch has no rows")
    if session.place.rank > 0:
        trainee = Trainee(order.parent, order.optimizer, session)
        trainee.step(rows, order.loss, order.steps, lambda done, total: None)
        trainee.save(order.out)
        return {}
    with incoming(order.out) as folder:
        trainee = Trainee(order.parent, order.optimizer, session)
        check_space(folder, trainee.bytes_to_save())
        metrics = trainee.step(rows, order.loss, order.steps, progress)
        trained = publish(trainee, folder, order.out, order.key, metrics)
    progress(len(rows), len(rows))
    return trained


def publish(trainee: Trainee, folder: Path, out: Path, key: str, metrics: Mapping[str, float]) -> Trained:
    """Saves into `folder`, which becomes `out`."""
    trainee.save(folder)
    described = environment(trainee.session.place, trainee.session.dtype)
    (folder / "environment.json").write_text(json.dumps(described, indent=2) + "\n")
    return appear(
        folder,
        out,
        lambda files: {
            "format": "tadpole-trained",
            "version": 1,
            "key": key,
            "step": trainee.state.step,
            "metrics": metrics,
            "files": files,
        },
    )


def check_space(folder: Path, needed: int) -> None:
    """Before training, not after it."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise TrainerError("disk", f"{folder.parent}: the checkpoint needs {needed} bytes, {free} are free")
