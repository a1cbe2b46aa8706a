"""A model's weights in float32 with their gradients, whatever dtype it computes in.

A step of 1e-6 vanishes in bfloat16, which keeps 8 bits: so the optimizer works on float32 masters, and the model computes with their
rounded copies. `fsdp.ShardedWeights` is the same over several devices.
"""

import torch
from torch import Tensor, nn

from tadpole_torch.model import Scorer


class Weights:
    """Weights of one device. Gradients of all passes since `clear` add up in float32."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self._parameters: dict[str, nn.Parameter] = dict(scorer.model.named_parameters())
        self.masters: dict[str, Tensor] = {name: each.data.float() for name, each in self._parameters.items()}
        """By parameter name. In float32 they are the model's own tensors, not copies."""
        self._gradients = {name: torch.zeros_like(master) for name, master in self.masters.items()}
        for name, parameter in self._parameters.items():
            parameter.register_post_accumulate_grad_hook(self._adder(name))

    def _adder(self, name: str):
        def add(parameter: Tensor) -> None:
            self._gradients[name].add_(parameter.grad)
            parameter.grad = None

        return add

    def gradients(self) -> dict[str, Tensor]:
        """By parameter name, float32."""
        return self._gradients

    def clear(self) -> None:
        for gradient in self._gradients.values():
            gradient.zero_()

    def store(self) -> None:
        """The masters' values, rounded, into the model."""
        for name, parameter in self._parameters.items():
            parameter.data.copy_(self.masters[name])

    @property
    def rounded(self) -> bool:
        """Whether the model holds less than the masters do."""
        return next(iter(self._parameters.values())).dtype is not torch.float32

    def whole(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Tensors as they are saved: none is a part of one."""
        return tensors

    def model_state(self) -> dict[str, Tensor]:
        """What the model folder holds, in the model's dtype; tied weights once, under all of their names."""
        return self.scorer.model.state_dict()
