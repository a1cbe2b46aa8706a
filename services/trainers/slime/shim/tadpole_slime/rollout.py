"""Resident mode: the function of `--rollout-function-path` (slime/rollout/base_types.py, `call_rollout_fn`).

slime asks for rollout N when everything before N was trained, saved and synchronised (its train.py): so the question itself acknowledges N - 1. The
answer is the batch `<N>.arrow` in the folder that TADPOLE_SLIME_BATCHES names. Batches are immutable and stay there: a job that died before it saved
asks for the same one again and gets it.
"""

import os
import time
from pathlib import Path
from typing import Any

from tadpole_slime.batch import read_rows
from tadpole_slime.samples import samples

FOLDER_VARIABLE = "TADPOLE_SLIME_BATCHES"
LOOK_SECONDS = 0.5


def note_wanted(folder: Path, update: int) -> None:
    """`wanted`: the update that is asked for. The worker reads in it that all before were made; it is replaced whole."""
    partial = folder / ".wanted.partial"
    partial.write_text(f"{update}\n")
    os.replace(partial, folder / "wanted")


def wait_for(folder: Path, update: int, look_seconds: float = LOOK_SECONDS) -> Path:
    """Waits as long as it takes: rollouts are collected meanwhile. A file `stop` ends the job in order, before it trains on nothing."""
    note_wanted(folder, update)
    file = folder / f"{update}.arrow"
    while not file.exists():
        if (folder / "stop").exists():
            raise SystemExit(f"no batch for update {update}: the worker stops")
        time.sleep(look_seconds)
    return file


def generate(args: Any, rollout_id: int, data_source: Any, evaluation: bool = False) -> Any:
    """Each sample in a list of its own: slime's prompts of one sample."""
    if evaluation:
        raise RuntimeError("policies are evaluated by Tadpole: leave --eval-interval out")
    from slime.rollout.base_types import RolloutFnTrainOutput
    from slime.utils.types import Sample

    folder = Path(os.environ[FOLDER_VARIABLE])
    rows = read_rows(wait_for(folder, rollout_id))
    made = samples(rows, args.global_batch_size)
    return RolloutFnTrainOutput(samples=[[Sample.from_dict(each)] for each in made], metrics={})
