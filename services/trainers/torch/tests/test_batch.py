"""Batch files: what is read, and the rule that is named when one is broken."""

from pathlib import Path

import numpy as np
import pytest
from conftest import fails, random_columns, write_batch

from tadpole_torch.batch import read_batch


def test_reads_the_rows_in_order(tmp_path: Path) -> None:
    columns = random_columns()
    rows = read_batch(write_batch(tmp_path / "b.arrow", columns))
    assert [row.rollout for row in rows] == columns["rollout"]
    for index, row in enumerate(rows):
        assert row.advantage == columns["advantage"][index]
        assert row.tokens.tolist() == columns["tokens"][index]
        assert row.trainable.tolist() == columns["trainable"][index]
        assert row.logprobs.tolist() == columns["logprobs"][index]


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("advantage", float("nan"), r"batch row 1 \(r1\): advantage is nan, expected a finite number"),
        ("reward", float("inf"), r"batch row 1 \(r1\): reward is inf, expected a finite number"),
        ("raw", 2, r"raw is 2, expected 0 or 1"),
        ("group", "", r"group and rollout must not be empty"),
        ("tokens", [], r"tokens is empty"),
        ("tokens", [3, -1, 4], r"have 3, \d+ and \d+ elements, expected equally many"),
    ],
)
def test_names_row_and_field(tmp_path: Path, column: str, value: object, words: str) -> None:
    columns = random_columns()
    columns[column][1] = value
    with fails("batch", words):
        read_batch(write_batch(tmp_path / "b.arrow", columns))


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("tokens", -1, "an integer from 0 to"),
        ("trainable", 2, "0 or 1"),
        ("logprobs", float("nan"), "a finite number"),
        ("logprobs", -0.5, "0 where trainable is 0"),
    ],
)
def test_names_the_token(tmp_path: Path, column: str, value: float, expected: str) -> None:
    columns = random_columns()
    columns["trainable"][2][0] = 0
    columns[column][2][0] = value
    with fails("batch", rf"batch row 2 \(r2\): {column}\[0\] is {np.float64(value):g}, expected {expected}"):
        read_batch(write_batch(tmp_path / "b.arrow", columns))


def test_refuses_other_files(tmp_path: Path) -> None:
    other = write_batch(tmp_path / "v2.arrow", random_columns(), {"format": "tadpole-batch", "version": "2"})
    with fails("batch", "expected format tadpole-batch 1, found tadpole-batch 2"):
        read_batch(other)
    (tmp_path / "text").write_text("no batch")
    with fails("batch", "text: not an Arrow IPC file"):
        read_batch(tmp_path / "text")
    with fails("batch", "gone: no such file"):
        read_batch(tmp_path / "gone")
