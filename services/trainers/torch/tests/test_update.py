"""Updates: repeatable, applied once, whole or not there, with one clear error for each bad input."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from conftest import fails, random_columns, session, write_batch
from safetensors.torch import load_file, save_file
from tiny import make_tiny
from transformers import AutoModelForCausalLM

from tadpole_torch.checkpoint import incoming, incoming_of
from tadpole_torch.errors import TrainerError, classified
from tadpole_torch.loss import LossSettings
from tadpole_torch.optimizer import OptimizerSettings, OptimizerState, adamw_step
from tadpole_torch.supervised import WarmupSettings, warm_up
from tadpole_torch.update import Order, Trainee, publish, run_update

STEPS = OptimizerSettings(learning_rate=1e-3)


def quiet(done: int, total: int) -> None:
    pass


@pytest.fixture
def order(tiny: Path, batch: Path, tmp_path: Path) -> Order:
    return Order("k1", tiny, None, batch, tmp_path / "out", LossSettings("dppo-tv"), STEPS)


def hashes(trained: dict) -> dict[str, str]:
    return {file["path"]: file["sha256"] for file in trained["files"]}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_same_twice_gives_the_same(order: Order, dtype: str, tmp_path: Path) -> None:
    first = run_update(order, session(dtype), quiet)
    second = run_update(replace(order, out=tmp_path / "again"), session(dtype), quiet)
    assert hashes(first) == hashes(second)
    name = "model.layers.0.mlp.up_proj.weight"
    changed = load_file(order.out / "model/model.safetensors")[name]
    assert changed.dtype is (torch.float32 if dtype == "float32" else torch.bfloat16)
    assert json.loads((order.out / "model/config.json").read_text())["dtype"] == dtype
    assert not torch.equal(changed.float(), load_file(order.parent / "model.safetensors")[name])


def test_goes_on_from_the_optimizers_state(order: Order, tmp_path: Path) -> None:
    """Two updates in one process are two updates in two, also where the model folder holds rounded weights."""
    for dtype in ("float32", "bfloat16"):
        base = tmp_path / dtype
        run_update(replace(order, out=base / "1"), session(dtype), quiet)
        second = replace(order, key="k2", parent=base / "1/model", optimizer=base / "1/optimizer", out=base / "2")
        assert run_update(second, session(dtype), quiet)["step"] == 2
        whole = Trainee(order.parent, None, session(dtype))
        from tadpole_torch.batch import read_batch

        for _ in range(2):
            whole.step(read_batch(order.batch), order.loss, order.steps, quiet)
        saved = load_file(base / "2/model/model.safetensors")
        for name, tensor in saved.items():
            assert torch.equal(tensor, whole.weights.model_state()[name]), name


def test_small_steps_are_not_lost_in_bfloat16(order: Order, tmp_path: Path) -> None:
    settings = OptimizerSettings(learning_rate=1e-6, weight_decay=0)
    run_update(replace(order, steps=settings), session("bfloat16"), quiet)
    masters = load_file(order.out / "optimizer/masters.safetensors")
    rounded = load_file(order.out / "model/model.safetensors")
    name = "model.norm.weight"
    assert torch.equal(rounded[name].float(), torch.ones(32))
    assert not torch.equal(masters[name], torch.ones(32))


def test_adamw_is_torchs() -> None:
    torch.manual_seed(0)
    start = torch.randn(50)
    weight = start.clone()
    reference = torch.nn.Parameter(start.clone())
    settings = OptimizerSettings(learning_rate=0.01, clip_norm=1.0)
    peer = torch.optim.AdamW([reference], lr=0.01, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.1)
    state = OptimizerState({"w": torch.zeros(50)}, {"w": torch.zeros(50)}, 0)
    for scale in (0.05, 3.0, 1.0):
        gradient = torch.randn(50) * scale
        norm = adamw_step({"w": weight}, {"w": gradient}, state, settings)
        assert norm == pytest.approx(float(gradient.norm()), rel=1e-6)
        reference.grad = gradient / max(1.0, float(gradient.norm()))
        peer.step()
    assert (weight - reference).abs().max() < 1e-6


def test_the_same_key_trains_once(order: Order) -> None:
    first = run_update(order, session(), quiet)
    seen: list[int] = []
    assert run_update(order, session(), lambda done, total: seen.append(done)) == first
    assert seen == []
    with fails("internal", "holds the update k1, expected other"):
        run_update(replace(order, key="other"), session(), quiet)


def test_leftovers_of_a_killed_update_change_nothing(order: Order, tmp_path: Path) -> None:
    expected = hashes(run_update(replace(order, out=tmp_path / "undisturbed"), session(), quiet))
    left = incoming_of(order.out)
    (left / "model").mkdir(parents=True)
    (left / "model/extra.safetensors").write_text("half")
    assert hashes(run_update(order, session(), quiet)) == expected
    assert not left.exists()


def test_one_process_makes_a_folder(order: Order) -> None:
    with incoming(order.out), fails("internal", "is being made by another process"):
        run_update(order, session(), quiet)


def test_a_finished_folder_that_lost_a_file(order: Order) -> None:
    run_update(order, session(), quiet)
    (order.out / "model/model.safetensors").unlink()
    with fails("model", "model.safetensors: not there with its"):
        run_update(order, session(), quiet)


def test_other_processes_may_read_what_is_saved(order: Order) -> None:
    trained = run_update(order, session(), quiet)
    assert {(order.out / path).stat().st_mode & 0o044 for path in hashes(trained)} == {0o044}


@pytest.fixture
def broken(order: Order, tmp_path: Path) -> Order:
    """A parent in shards, to be damaged."""
    make_tiny(tmp_path / "broken", max_shard_size="60KB")
    return replace(order, parent=tmp_path / "broken")


def test_parents_that_are_not_whole(broken: Order, tmp_path: Path) -> None:
    parent = broken.parent
    shard = sorted(parent.glob("model-*.safetensors"))[1]
    bytes_ = shard.read_bytes()
    shard.write_bytes(bytes_[:-100])
    with fails("model", f"{shard.name}: not a whole safetensors file"):
        run_update(broken, session(), quiet)
    shard.unlink()
    with fails("model", f"{shard.name}: no such file, the folder is not whole"):
        run_update(broken, session(), quiet)
    shard.write_bytes(bytes_)
    tokenizer = (parent / "tokenizer.json").read_bytes()
    (parent / "tokenizer.json").unlink()
    with fails("model", "broken: no tokenizer, expected one of tokenizer.json"):
        run_update(broken, session(), quiet)
    (parent / "tokenizer.json").write_bytes(tokenizer)
    with fails("model", "gone: no such folder"):
        run_update(replace(broken, parent=tmp_path / "gone"), session(), quiet)
    assert run_update(broken, session(), quiet)["step"] == 1


def test_parents_with_other_tensors(order: Order, tmp_path: Path) -> None:
    make_tiny(tmp_path / "m")
    tensors = load_file(tmp_path / "m/model.safetensors")
    norm = tensors.pop("model.norm.weight")
    save_file(tensors, tmp_path / "m/model.safetensors", {"format": "pt"})
    broken = replace(order, parent=tmp_path / "m")
    with fails("model", "missing keys in its weights: model.norm.weight"):
        run_update(broken, session(), quiet)
    save_file({**tensors, "model.norm.weight": norm * float("nan")}, tmp_path / "m/model.safetensors", {"format": "pt"})
    with fails("diverged", "log-probabilities of the parent's weights are not finite"):
        run_update(broken, session(), quiet)
    assert not order.out.exists() and not incoming_of(order.out).exists()


def test_an_optimizer_of_another_model(order: Order, tmp_path: Path) -> None:
    make_tiny(tmp_path / "wide", hidden_size=48)
    run_update(replace(order, parent=tmp_path / "wide"), session(), quiet)
    with fails("model", r"moment1.safetensors: expected model.embed_tokens.weight of shape \[260, 32\], found shape \[260, 48\]"):
        run_update(replace(order, optimizer=order.out / "optimizer", out=tmp_path / "o2"), session(), quiet)


def test_a_batch_without_rows(order: Order, tmp_path: Path) -> None:
    empty = {name: [] for name in random_columns()}
    with fails("batch", "the batch has no rows"):
        run_update(replace(order, batch=write_batch(tmp_path / "e.arrow", empty)), session(), quiet)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk(order: Order, small_disk: Path) -> None:
    """Found before training where it can be; here it also fills up while the checkpoint is saved."""
    out = small_disk / "out"
    before = sorted((path.name, path.read_bytes()) for path in order.parent.iterdir())
    (small_disk / "other").write_bytes(bytes(40_000))
    with fails("disk", r"the checkpoint needs \d+ bytes, \d+ are free"):
        run_update(replace(order, out=out), session(), quiet)
    trainee = Trainee(order.parent, None, session())
    with pytest.raises(Exception) as caught, incoming(out) as folder:
        publish(trainee, folder, out, "k", {})
    failure = classified(caught.value)
    assert (failure.kind, "no space left" in str(failure)) == ("disk", True)
    assert [path.name for path in small_disk.iterdir()] == ["other"]
    assert sorted((path.name, path.read_bytes()) for path in order.parent.iterdir()) == before


def test_supervised_warm_up_learns_the_batch(tiny: Path, batch: Path, tmp_path: Path) -> None:
    epochs: list[dict] = []
    settings = WarmupSettings(4, 2, 0, OptimizerSettings(learning_rate=0.01, weight_decay=0))
    trained = warm_up(tiny, batch, tmp_path / "warm", settings, session(), epochs.append)
    assert [each["epoch"] for each in epochs] == [1, 2, 3, 4]
    assert epochs[3]["loss"] < epochs[0]["loss"] - 0.3
    assert trained["step"] == 12
    AutoModelForCausalLM.from_pretrained(tmp_path / "warm/model")


def test_classified_keeps_what_is_known() -> None:
    assert classified(MemoryError()).kind == "memory"
    assert classified(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")).kind == "memory"
    assert classified(ValueError("x")).kind == "internal"
    assert classified(TrainerError("batch", "b")).kind == "batch"
