"""Two processes that share an update (FSDP2 over gloo, on the CPU) make what one makes. On GPUs none of this has run."""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path

import pytest
from conftest import session
from safetensors.torch import load_file

from tadpole_torch.crew import Crew, CrewSettings
from tadpole_torch.loss import LossSettings
from tadpole_torch.optimizer import OptimizerSettings
from tadpole_torch.update import Order, run_update

LOSS = LossSettings("dppo-tv")
STEPS = OptimizerSettings(learning_rate=1e-2)


def camel(settings: object) -> dict[str, object]:
    words = {name: name.split("_") for name in asdict(settings)}
    return {first + "".join(each.title() for each in rest): asdict(settings)["_".join([first, *rest])] for first, *rest in words.values()}


def test_two_ranks_make_what_one_makes(tiny: Path, batch: Path, tmp_path: Path) -> None:
    def order(parent: Path, optimizer: Path | None, out: Path) -> dict[str, object]:
        return {
            **{"key": out.name, "parent": str(parent), "optimizer": optimizer and str(optimizer), "batch": str(batch), "out": str(out)},
            "settings": {"loss": camel(LOSS), "optimizer": camel(STEPS)},
        }

    async def two_updates() -> dict:
        crew = Crew(CrewSettings("float32", 64, False, cpu=True, threads=1, ranks=2))
        try:
            await crew.update(order(tiny, None, tmp_path / "a1"), lambda done, total: None)
            first = tmp_path / "a1"
            return await crew.update(order(first / "model", first / "optimizer", tmp_path / "a2"), lambda done, total: None)
        finally:
            await crew.end()

    shared = asyncio.run(two_updates())
    for number, (parent, optimizer) in enumerate([(tiny, None), (tmp_path / "b1/model", tmp_path / "b1/optimizer")], start=1):
        alone = run_update(
            Order(f"b{number}", parent, optimizer, batch, tmp_path / f"b{number}", LOSS, STEPS), session(), lambda done, total: None
        )
    assert shared["step"] == alone["step"] == 2
    assert shared["metrics"] == pytest.approx(alone["metrics"], rel=1e-4)
    assert json.loads((tmp_path / "a2/environment.json").read_text())["ranks"] == 2
    for file in ("model/model.safetensors", "optimizer/moment1.safetensors", "optimizer/moment2.safetensors"):
        expected = load_file(tmp_path / "b2" / file)
        found = load_file(tmp_path / "a2" / file)
        assert found.keys() == expected.keys()
        for name, tensor in expected.items():
            assert (found[name] - tensor).abs().max() < 1e-4, (file, name)
