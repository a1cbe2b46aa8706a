"""Policy-gradient losses over tokens: L = -(1/|T|) Σ surrogate, T = *all* trainable tokens of the batch.

A token that the trust region drops adds nothing to the sum but still counts in |T|. A batch is scored pass by pass, so the functions
here give sums over some of its tokens; `finish` makes the batch's numbers of them.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

LossKind = Literal["dppo-tv", "two-sided", "ratio-clip", "supervised"]


@dataclass(frozen=True)
class LossSettings:
    """Names as in an experiment's `loss` section. `supervised` reads none of the numbers."""

    kind: LossKind
    threshold: float = 0.2
    """dppo-tv: bound on p - q, in probability."""
    clip_low: float = 0.2
    clip_high: float = 0.28
    """ratio-clip: 1 - clip_low .. 1 + clip_high (clip-higher: DAPO, arXiv 2503.14476)."""
    ratio_low: float = 0.5
    ratio_high: float = 2.0
    """two-sided: kept if ratio_low < p/q < ratio_high."""


@dataclass(frozen=True)
class LossTerms:
    """Sums over some tokens of a batch; terms of disjoint tokens add up."""

    surrogate: Tensor
    """Scalar float64; its derivative with respect to log p is what trains."""
    dropped: int
    ratios: float
    """Σ p/q."""
    squares: float
    """Σ (p/q)²."""


def loss_terms(log_p: Tensor, log_q: Tensor, advantage: Tensor, settings: LossSettings) -> LossTerms:
    """Terms of N trainable tokens: [N] log p (nats, with its graph), [N] log q (nats), [N] advantage, computed in float64.

    Every surrogate is A·p/q where it is kept; the masks carry no gradient.

    - `dppo-tv` drops a token if A > 0 and p - q > threshold, or A <= 0 and p - q < -threshold.
    - `two-sided` keeps a token if ratio_low < p/q < ratio_high.
    - `ratio-clip` is min(A·r, A·clip(r, 1 - clip_low, 1 + clip_high)); a clipped token is a constant, so it counts as dropped.
    - `supervised` is log p: the loss is the mean negative log-likelihood; nothing is dropped, log q is not read and p/q counts as 1.
    """
    log_p, log_q, advantage = log_p.double(), log_q.double(), advantage.double()
    if settings.kind == "supervised":
        count = float(log_p.numel())
        return LossTerms(surrogate=log_p.sum(), dropped=0, ratios=count, squares=count)
    ratio = torch.exp(log_p - log_q)
    weights = ratio.detach()
    kept = _kept(log_p.detach(), log_q, weights, advantage, settings)
    surrogate = (advantage * torch.where(kept, ratio, 0.0)).sum()
    if settings.kind == "ratio-clip":
        bound = torch.where(advantage > 0, 1 + settings.clip_high, 1 - settings.clip_low)
        surrogate = surrogate + torch.where(kept, 0.0, advantage * bound).sum()
    return LossTerms(
        surrogate=surrogate,
        dropped=int((~kept).sum()),
        ratios=float(weights.sum()),
        squares=float((weights * weights).sum()),
    )


def _kept(log_p: Tensor, log_q: Tensor, ratio: Tensor, advantage: Tensor, settings: LossSettings) -> Tensor:
    if settings.kind == "two-sided":
        return (ratio > settings.ratio_low) & (ratio < settings.ratio_high)
    if settings.kind == "ratio-clip":
        above = (advantage > 0) & ~(ratio < 1 + settings.clip_high)
        below = (advantage < 0) & ~(ratio > 1 - settings.clip_low)
        return ~(above | below)
    difference = torch.exp(log_p) - torch.exp(log_q)
    return torch.where(advantage > 0, difference <= settings.threshold, difference >= -settings.threshold)


@dataclass
class LossSums:
    """Running sums over a batch's passes."""

    surrogate: float = 0.0
    dropped: int = 0
    ratios: float = 0.0
    squares: float = 0.0
    entropies: float = 0.0
    """Σ entropy of the policy's distribution, nats."""

    def add(self, terms: LossTerms, entropies: float) -> None:
        self.surrogate += float(terms.surrogate.detach())
        self.dropped += terms.dropped
        self.ratios += terms.ratios
        self.squares += terms.squares
        self.entropies += entropies

    def finish(self, tokens: int) -> dict[str, float]:
        """Metrics of a batch with `tokens` = |T| trainable tokens; names as the protocol has them."""
        return {
            "loss": 0.0 if tokens == 0 else -self.surrogate / tokens,
            "trainableTokens": tokens,
            "droppedTokens": self.dropped,
            "effectiveSampleSize": 0.0 if self.squares == 0 else self.ratios**2 / self.squares,
            "entropy": 0.0 if tokens == 0 else self.entropies / tokens,
            "meanRatio": 1.0 if tokens == 0 else self.ratios / tokens,
        }
