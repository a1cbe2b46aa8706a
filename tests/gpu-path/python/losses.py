"""Answers questions about batch files by the torch trainer's own code, a JSON line each: `python losses.py MODEL PACK_TOKENS`."""

import json
import sys
from pathlib import Path

import torch

from tadpole_torch.advantage import advantages
from tadpole_torch.batch import read_batch
from tadpole_torch.device import Place, make_repeatable
from tadpole_torch.loss import LossSums
from tadpole_torch.packing import Pack, make_packs
from tadpole_torch.settings import loss_settings
from tadpole_torch.update import Session, Trainee

make_repeatable(1)
trainee = Trainee(Path(sys.argv[1]), None, Session("float32", int(sys.argv[2]), False, Place(torch.device("cpu"))))
outputs: list[torch.Tensor] = []


def keep(module: torch.nn.Module, given: object, found: tuple[torch.Tensor, torch.Tensor]) -> None:
    """Each pass's log-probabilities, with the gradient that will reach them."""
    if found[0].requires_grad:
        found[0].retain_grad()
    outputs.append(found[0])


trainee.scorer.register_forward_hook(keep)


def packs_of(batch: str) -> list[Pack]:
    return make_packs(read_batch(Path(batch)), trainee.session.pack_tokens, trainee.vocabulary)


def log_probs(batch: str) -> dict:
    """Of the trainable tokens, in order."""
    with torch.no_grad():
        values = [value for pack in packs_of(batch) for value in _score(pack)[0].tolist()]
    return {"logProbs": values}


def loss(batch: str, settings: dict) -> dict:
    """The trainer's own pass over each pack: log p, dL/d log p and the batch's metrics."""
    trainee.weights.clear()
    outputs.clear()
    sums = LossSums()
    packs = packs_of(batch)
    tokens = sum(len(pack.targets) for pack in packs)
    for pack in packs:
        trainee._pass(pack, loss_settings(settings), tokens, sums)
    return {
        "logProbs": [value for each in outputs for value in each.tolist()],
        "gradient": [value for each in outputs for value in each.grad.tolist()],
        "metrics": sums.finish(tokens),
        "packs": len(packs),
    }


def weights(batch: str, gradient: list[float]) -> dict:
    """How far the weights' gradient of the last `loss` is from the one that a given dL/d log p makes, as a share of its largest element."""
    found = {name: each.clone() for name, each in trainee.weights.gradients().items()}
    trainee.weights.clear()
    for pack in packs_of(batch):
        log_p, _ = _score(pack)
        own, gradient = gradient[: len(log_p)], gradient[len(log_p) :]
        log_p.backward(torch.tensor(own))
    largest = max(float(each.abs().max()) for each in found.values())
    farthest = max(float((each - found[name]).abs().max()) for name, each in trainee.weights.gradients().items())
    return {"largest": largest, "farthest": farthest}


def _score(pack: Pack) -> tuple[torch.Tensor, torch.Tensor]:
    return trainee.scorer(pack.input_ids, pack.position_ids, pack.sources, pack.targets)


operations = {
    "logProbs": log_probs,
    "loss": loss,
    "weights": weights,
    "advantages": lambda rewards, estimator: {"advantages": advantages(rewards, estimator)},
}
for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps(operations[question.pop("op")](**question)), flush=True)
