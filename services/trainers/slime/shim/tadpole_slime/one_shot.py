"""One-shot mode: the file that `--load-debug-rollout-data` names (slime/observability/rollout_data_utils.py, `load_debug_rollout_data`).

    python -m tadpole_slime.one_shot BATCH UPDATE SIZE FOLDER
"""

import os
import sys
from pathlib import Path
from typing import Any

from tadpole_slime.batch import read_rows
from tadpole_slime.samples import Row, samples


def content(rows: list[Row], update: int, size: int) -> dict[str, Any]:
    return {"rollout_id": update, "samples": samples(rows, size)}


def write(rows: list[Row], update: int, size: int, folder: Path, save: Any) -> Path:
    """`<folder>/<update>.pt`, which appears whole. `save` = torch.save."""
    made = content(rows, update, size)
    file = folder / f"{update}.pt"
    partial = folder / f".{update}.pt.partial"
    save(made, partial)
    os.replace(partial, file)
    return file


def main(batch: str, update: str, size: str, folder: str) -> None:
    import torch

    print(write(read_rows(Path(batch)), int(update), int(size), Path(folder), torch.save))


if __name__ == "__main__":
    main(*sys.argv[1:])
