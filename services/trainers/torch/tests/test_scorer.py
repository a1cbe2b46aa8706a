"""Log-probabilities and gradients: packed as alone, in chunks as in one piece, with gradient checkpointing as without."""

import shutil
from pathlib import Path

import pytest
import torch
from conftest import fails, random_columns, session, write_batch
from transformers import AutoModelForCausalLM, GraniteConfig, GraniteForCausalLM

from tadpole_torch import model as model_module
from tadpole_torch.batch import Row, read_batch
from tadpole_torch.loss import LossSettings, LossSums
from tadpole_torch.model import check_scorer
from tadpole_torch.packing import make_packs
from tadpole_torch.update import Trainee


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    return read_batch(write_batch(tmp_path / "rows.arrow", random_columns(rows=8, seed=3)))


def scored(trainee: Trainee, rows: list[Row], pack_tokens: int) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Log-probabilities of all trainable tokens, and the gradient of a loss of them."""
    trainee.weights.clear()
    parts = []
    for pack in make_packs(rows, pack_tokens, trainee.vocabulary):
        with torch.no_grad():
            parts.append(trainee.scorer(pack.input_ids, pack.position_ids, pack.sources, pack.targets)[0])
        trainee._pass(pack, LossSettings("two-sided", ratio_low=0, ratio_high=1e9), 100, LossSums())
    return torch.cat(parts), {name: each.clone() for name, each in trainee.weights.gradients().items()}


def assert_same(a: tuple[torch.Tensor, dict[str, torch.Tensor]], b: tuple[torch.Tensor, dict[str, torch.Tensor]]) -> None:
    assert (a[0] - b[0]).abs().max() <= 1e-5
    assert a[1].keys() == b[1].keys()
    scale = max(float(each.abs().max()) for each in a[1].values())
    assert scale > 0
    for name, gradient in a[1].items():
        assert (gradient - b[1][name]).abs().max() <= 1e-5 * scale, name


def test_packed_equals_alone(tiny: Path, rows: list[Row]) -> None:
    trainee = Trainee(tiny, None, session())
    assert len(make_packs(rows, 1, trainee.vocabulary)) == 8
    assert len(make_packs(rows, 1000, trainee.vocabulary)) == 1
    assert_same(scored(trainee, rows, 1000), scored(trainee, rows, 1))


def test_equals_the_models_own_logits(tiny: Path, rows: list[Row]) -> None:
    log_p, _ = scored(Trainee(tiny, None, session()), rows, 1000)
    model = AutoModelForCausalLM.from_pretrained(tiny, attn_implementation="eager")
    parts = []
    for row in rows:
        tokens = torch.from_numpy(row.tokens.copy()).long()
        all_log_p = model(tokens[None]).logits[0, :-1].log_softmax(-1).gather(-1, tokens[1:, None])[:, 0]
        parts.append(all_log_p[torch.from_numpy(row.trainable[1:].copy()) == 1])
    assert (log_p - torch.cat(parts)).abs().max() <= 1e-5


def test_chunks_change_nothing(tiny: Path, rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    trainee = Trainee(tiny, None, session())
    whole = scored(trainee, rows, 1000)
    monkeypatch.setattr(model_module, "CHUNK_LOGITS", 3 * trainee.vocabulary)
    assert_same(whole, scored(trainee, rows, 1000))


def test_gradient_checkpointing_changes_nothing(tiny: Path, rows: list[Row]) -> None:
    with_it = Trainee(tiny, None, session(gradient_checkpointing=True))
    assert any(getattr(module, "gradient_checkpointing", False) for module in with_it.scorer.modules())
    assert_same(scored(Trainee(tiny, None, session()), rows, 64), scored(with_it, rows, 64))


def test_entropy_is_the_distributions(tiny: Path, rows: list[Row]) -> None:
    trainee = Trainee(tiny, None, session())
    pack = make_packs(rows[:1], 100, trainee.vocabulary)[0]
    _, entropy = trainee.scorer(pack.input_ids, pack.position_ids, pack.sources, pack.targets)
    log_p = trainee.scorer.model(pack.input_ids[None]).logits[0].log_softmax(-1)[pack.sources]
    assert torch.allclose(entropy, -(log_p.exp() * log_p).sum(-1), atol=1e-5)


def test_tokens_that_cannot_have_been_sampled(tmp_path: Path) -> None:
    columns = random_columns()
    columns["tokens"][3][4] = 260
    with fails("batch", r"batch row 3 \(r3\): tokens\[4\] is 260, the model knows the tokens 0 to 259"):
        make_packs(read_batch(write_batch(tmp_path / "b.arrow", columns)), 100, 260)
    columns = random_columns()
    columns["trainable"][3][0] = 1
    with fails("batch", r"batch row 3 \(r3\): trainable\[0\] is 1, but nothing stands before"):
        make_packs(read_batch(write_batch(tmp_path / "b.arrow", columns)), 100, 260)


def test_refuses_a_model_whose_rows_see_each_other(tiny: Path) -> None:
    scorer = Trainee(tiny, None, session()).scorer

    def run_on(module: object, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Positions that do not begin anew, as in an architecture that does not read them."""
        length = kwargs["input_ids"].shape[1]
        return args, {**kwargs, "position_ids": torch.arange(length)[None]}

    scorer.model.base_model.register_forward_pre_hook(run_on, with_kwargs=True)
    with fails("model", "LlamaForCausalLM scores rows differently packed and alone"):
        check_scorer(tiny, scorer)


def test_refuses_logits_that_are_more_than_the_heads(tmp_path: Path, tiny: Path) -> None:
    shutil.copytree(tiny, tmp_path / "m")
    torch.manual_seed(0)
    small = {"vocab_size": 260, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
    GraniteForCausalLM(GraniteConfig(**small, logits_scaling=8.0, initializer_range=0.2)).save_pretrained(tmp_path / "m")
    with fails("model", "GraniteForCausalLM scores rows differently packed and alone"):
        Trainee(tmp_path / "m", None, session())
