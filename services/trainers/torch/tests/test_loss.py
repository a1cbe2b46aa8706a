"""Losses and advantages by hand-made numbers. That they are core/loss and core/advantage is shown in tests/gpu-path."""

import math

import pytest
import torch

from tadpole_torch.advantage import advantages
from tadpole_torch.loss import LossSettings, LossSums, LossTerms, loss_terms


def terms(p: list[float], q: list[float], advantage: list[float], settings: LossSettings) -> tuple[LossTerms, torch.Tensor]:
    log_p = torch.tensor(p).double().log().requires_grad_()
    found = loss_terms(log_p, torch.tensor(q).double().log(), torch.tensor(advantage), settings)
    found.surrogate.backward()
    assert log_p.grad is not None
    return found, log_p.grad


def test_dppo_drops_by_the_difference_of_probabilities() -> None:
    found, gradient = terms([0.9, 0.6, 0.1, 0.4], [0.5, 0.5, 0.5, 0.5], [1, 1, -1, -1], LossSettings("dppo-tv", threshold=0.2))
    assert found.dropped == 2
    assert gradient.tolist() == pytest.approx([0, 1.2, 0, -0.8])


def test_ratio_clip_keeps_the_clipped_value_without_a_gradient() -> None:
    settings = LossSettings("ratio-clip", clip_low=0.2, clip_high=0.3)
    found, gradient = terms([0.8, 0.2, 0.5], [0.5, 0.5, 0.5], [1, -1, 2], settings)
    assert float(found.surrogate.detach()) == pytest.approx(1.3 - 0.8 + 2)
    assert gradient.tolist() == pytest.approx([0, 0, 2])


def test_two_sided_drops_far_ratios_whatever_the_advantage() -> None:
    settings = LossSettings("two-sided", ratio_low=0.5, ratio_high=1.5)
    found, gradient = terms([0.8, 0.2, 0.5], [0.5, 0.5, 0.5], [-1, 1, 1], settings)
    assert found.dropped == 2
    assert gradient.tolist() == pytest.approx([0, 0, 1])


def test_sums_make_the_batchs_numbers() -> None:
    sums = LossSums()
    for p in (0.25, 0.5):
        found, _ = terms([p], [0.5], [1.0], LossSettings("two-sided", ratio_low=0, ratio_high=9))
        sums.add(found, math.log(2))
    metrics = sums.finish(4)
    assert metrics["loss"] == pytest.approx(-1.5 / 4)
    assert metrics["effectiveSampleSize"] == pytest.approx(1.5**2 / 1.25)
    assert metrics["meanRatio"] == pytest.approx(1.5 / 4)


def test_advantages() -> None:
    assert advantages([1, 0, 0, 1], "leave-one-out") == pytest.approx([2 / 3, -2 / 3, -2 / 3, 2 / 3])
    assert advantages([1, 0], "no-std") == [0.5, -0.5]
    assert advantages([1, 0], "group-std-population") == pytest.approx([1, -1], abs=1e-5)
    assert advantages([1], "no-std") == [0]
