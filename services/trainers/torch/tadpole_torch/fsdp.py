"""EXPERIMENTAL. The same update over several devices: FSDP2, every tensor in shards, each device with packs of its own.

Checked on two CPU processes against one; it has not run on GPUs. https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html
"""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import distribute_tensor

from tadpole_torch.device import Place
from tadpole_torch.loss import LossSums
from tadpole_torch.model import Scorer
from tadpole_torch.optimizer import OptimizerState
from tadpole_torch.packing import Pack


class ShardedWeights:
    """As `weights.Weights`; masters and gradients are this device's shards (DTensors) of the whole."""

    def __init__(self, scorer: Scorer, dtype: torch.dtype, place: Place) -> None:
        """`scorer` was loaded in float32: its shards are the masters, and FSDP rounds them to `dtype` as it gathers them."""
        self.scorer = scorer
        self._dtype = dtype
        mesh = init_device_mesh(place.device.type, (place.ranks,))
        policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
        for layer in _layers(scorer.model):
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(scorer, mesh=mesh, mp_policy=policy)
        for module in scorer.modules():
            if isinstance(module, FSDPModule):
                # A loss is a sum over all devices' tokens, not a mean over devices.
                module.set_gradient_divide_factor(1.0)
                module.set_force_sum_reduction_for_comms(True)
        self._parameters = dict(scorer.model.named_parameters())
        self.masters: dict[str, Tensor] = {name: each.data for name, each in self._parameters.items()}

    def gradients(self) -> dict[str, Tensor]:
        return {name: torch.zeros_like(each.data) if each.grad is None else each.grad for name, each in self._parameters.items()}

    def clear(self) -> None:
        for parameter in self._parameters.values():
            parameter.grad = None

    def store(self) -> None:
        """Nothing to do: the masters are the model's own."""

    @property
    def rounded(self) -> bool:
        return self._dtype is not torch.float32

    def whole(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """All ranks have to call it; each gets all, on the CPU."""
        return {name: each.full_tensor().cpu() for name, each in tensors.items()}

    def model_state(self) -> dict[str, Tensor]:
        whole = {id(each): each.data.full_tensor().cpu().to(self._dtype) for each in self._parameters.values()}
        named = self.scorer.model.named_parameters(remove_duplicate=False)
        # Tied weights stay one tensor, so that they are saved once.
        weights = {name: whole[id(each)] for name, each in named}
        return weights | {name: each for name, each in self.scorer.model.state_dict().items() if name not in weights}


def _layers(model: nn.Module) -> list[nn.Module]:
    """The blocks that transformers itself never splits over devices."""
    names = set(getattr(model, "_no_split_modules", None) or [])
    return [module for module in model.modules() if type(module).__name__ in names]


def share_of(packs: list[Pack], place: Place) -> list[Pack]:
    """This device's packs. Every device makes as many passes, since each pass is a meeting of all: missing ones train nothing."""
    own = packs[place.rank :: place.ranks]
    missing = -(-len(packs) // place.ranks) - len(own)
    return own + [_idle(packs[0])] * missing


def _idle(pack: Pack) -> Pack:
    """One token of the pack, none of it trainable."""
    none = {name: getattr(pack, name)[:0] for name in ("sources", "targets", "log_q", "advantage")}
    return Pack(rows=(), input_ids=pack.input_ids[:1], position_ids=pack.position_ids[:1], **none)


def add_up(sums: LossSums, place: Place) -> LossSums:
    """Sums over all devices."""
    names = list(vars(sums))
    values = torch.tensor([float(getattr(sums, name)) for name in names], dtype=torch.float64, device=place.device)
    dist.all_reduce(values)
    return LossSums(**{name: type(getattr(sums, name))(value) for name, value in zip(names, values.tolist(), strict=True)})


def shard_state(whole: OptimizerState, like: dict[str, Tensor]) -> OptimizerState:
    """This device's shards of a state that every device has read in full."""

    def shards(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        return {
            name: distribute_tensor(tensors[name], each.device_mesh, each.placements, src_data_rank=None) for name, each in like.items()
        }

    return OptimizerState(shards(whole.moment1), shards(whole.moment2), whole.step)
