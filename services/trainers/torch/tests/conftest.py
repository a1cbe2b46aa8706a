"""What the tests share: tiny models and batches of random rows."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from tiny import make_tiny

from tadpole_torch.batch import COLUMNS, FORMAT, VERSION
from tadpole_torch.device import Place, make_repeatable
from tadpole_torch.update import Session

make_repeatable(1)

CPU = Place(torch.device("cpu"))


def session(dtype: str = "float32", pack_tokens: int = 64, gradient_checkpointing: bool = False) -> Session:
    return Session(dtype, pack_tokens, gradient_checkpointing, CPU)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    make_tiny(folder)
    return folder


Columns = dict[str, list]


def random_columns(rows: int = 6, seed: int = 0) -> Columns:
    """Columns of a batch file of two groups."""
    generator = np.random.default_rng(seed)
    columns: Columns = {name: [] for name in COLUMNS}
    for index in range(rows):
        length = int(generator.integers(5, 30))
        trainable = (generator.random(length) < 0.5).astype(np.uint8)
        trainable[0], trainable[2] = 0, 1
        values = {
            "group": f"g{index % 2}",
            "rollout": f"r{index}",
            "advantage": float(generator.normal()),
            "reward": float(generator.random()),
            "raw": index % 2,
            "tokens": generator.integers(0, 256, length).tolist(),
            "trainable": trainable.tolist(),
            "logprobs": (-6 * generator.random(length) * trainable).tolist(),
        }
        for name, value in values.items():
            columns[name].append(value)
    return columns


def write_batch(path: Path, columns: Columns, metadata: dict[str, str] | None = None) -> Path:
    schema = pa.schema(list(COLUMNS.items()), metadata=metadata or {"format": FORMAT, "version": VERSION})
    table = pa.table(columns, schema=schema)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        writer.write_table(table)
    return path


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    return write_batch(tmp_path / "batch.arrow", random_columns())


def fails(kind: str, words: str) -> Callable[[], object]:
    """Context: a TrainerError of the kind whose message has the words."""
    from tadpole_torch.errors import TrainerError

    return pytest.raises(TrainerError, match=words, check=lambda error: error.kind == kind)
