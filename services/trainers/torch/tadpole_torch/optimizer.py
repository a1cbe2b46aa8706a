"""AdamW with clipping by the gradient's global norm, over float32 weights; its state as a folder.

Kingma and Ba, arXiv 1412.6980; Loshchilov and Hutter, arXiv 1711.05101. Every tensor decays, the learning rate is constant.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tadpole_torch.errors import TrainerError
from tadpole_torch.folder import check_safetensors, read_json

STATE = "optimizer.json"
MOMENT1, MOMENT2, MASTERS = "moment1", "moment2", "masters"


@dataclass(frozen=True)
class OptimizerSettings:
    """Names as in an experiment's `optimizer` section."""

    learning_rate: float
    beta1: float = 0.9
    beta2: float = 0.98
    epsilon: float = 1e-8
    weight_decay: float = 0.1
    clip_norm: float = 1.0


@dataclass
class OptimizerState:
    """By parameter name, float32, in the parameters' shapes."""

    moment1: dict[str, Tensor]
    moment2: dict[str, Tensor]
    step: int
    """Steps already taken."""


def fresh_state(weights: Mapping[str, Tensor]) -> OptimizerState:
    zeros = [{name: torch.zeros_like(weight) for name, weight in weights.items()} for _ in range(2)]
    return OptimizerState(zeros[0], zeros[1], 0)


def global_norm(gradients: Mapping[str, Tensor]) -> float:
    """Euclidean norm over all tensors, summed in float64 in the parameters' order."""
    return math.sqrt(sum(float(_whole(gradient.double().square().sum())) for gradient in gradients.values()))


def _whole(value: Tensor) -> Tensor:
    """Of a sum over a sharded tensor (FSDP), the sum over all shards."""
    return value.full_tensor() if hasattr(value, "full_tensor") else value


@torch.no_grad()
def adamw_step(weights: Mapping[str, Tensor], gradients: Mapping[str, Tensor], state: OptimizerState, settings: OptimizerSettings) -> float:
    """One step, in place. Returns the gradient's norm before clipping; raises TrainerError `diverged` where it is not finite."""
    norm = global_norm(gradients)
    if not math.isfinite(norm):
        raise TrainerError("diverged", f"gradient norm {norm}, expected a finite number")
    clip = settings.clip_norm / norm if norm > settings.clip_norm else 1.0
    state.step += 1
    correction1 = 1 - settings.beta1**state.step
    correction2 = 1 - settings.beta2**state.step
    for name, weight in weights.items():
        gradient = gradients[name] * clip
        moment1, moment2 = state.moment1[name], state.moment2[name]
        moment1.mul_(settings.beta1).add_(gradient, alpha=1 - settings.beta1)
        moment2.mul_(settings.beta2).addcmul_(gradient, gradient, value=1 - settings.beta2)
        scale = (moment2 / correction2).sqrt_().add_(settings.epsilon)
        weight.mul_(1 - settings.learning_rate * settings.weight_decay)
        weight.addcdiv_(moment1, scale, value=-settings.learning_rate / correction1)
    return norm


def save_state(folder: Path, state: OptimizerState, masters: Mapping[str, Tensor] | None) -> None:
    """Tensors as safetensors files. `masters`: the float32 weights, where the model folder holds rounded ones."""
    folder.mkdir()
    _save(folder, MOMENT1, state.moment1)
    _save(folder, MOMENT2, state.moment2)
    if masters is not None:
        _save(folder, MASTERS, masters)
    described = {"format": "tadpole-adamw", "version": 1, "step": state.step, "masters": masters is not None}
    (folder / STATE).write_text(json.dumps(described) + "\n")


def _save(folder: Path, name: str, tensors: Mapping[str, Tensor]) -> None:
    save_file({key: tensor.detach().contiguous() for key, tensor in tensors.items()}, folder / f"{name}.safetensors")


def load_state(folder: Path, weights: Mapping[str, Tensor]) -> OptimizerState:
    """State for these weights, which are overwritten by the folder's own float32 ones where it has any.

    Raises TrainerError `model` where the folder is not whole or belongs to another model.
    """
    described = read_json(folder / STATE)
    if described.get("format") != "tadpole-adamw" or described.get("version") != 1:
        raise TrainerError("model", f"{folder / STATE}: expected format tadpole-adamw 1")
    moments = [_load(folder, name, weights) for name in (MOMENT1, MOMENT2)]
    if described["masters"]:
        for name, tensor in _load(folder, MASTERS, weights).items():
            weights[name].data.copy_(tensor)
    return OptimizerState(moments[0], moments[1], int(described["step"]))


def _load(folder: Path, name: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    path = folder / f"{name}.safetensors"
    check_safetensors(path)
    loaded = load_file(path)
    for key, weight in weights.items():
        if key not in loaded or loaded[key].shape != weight.shape:
            found = "none" if key not in loaded else f"shape {list(loaded[key].shape)}"
            raise TrainerError("model", f"{path}: expected {key} of shape {list(weight.shape)}, found {found}")
    return {key: loaded[key].to(weight.device) for key, weight in weights.items()}
