"""An update's folder: it appears whole, by one rename, or not at all. `checkpoint.json`, written last in it, lists its files."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tadpole_torch.errors import TrainerError
from tadpole_torch.folder import files_below, sync, sync_tree

MARKER = "checkpoint.json"
Trained = dict[str, object]
"""`TrainedFile` of the protocol."""


def read_trained(out: Path, key: str) -> Trained | None:
    """What the folder of a finished update says; None where there is no folder. Raises TrainerError where it is another's."""
    if not out.exists():
        return None
    try:
        trained = json.loads((out / MARKER).read_text())
    except (OSError, ValueError) as error:
        raise TrainerError("internal", f"{out} is no update's folder: {error}") from error
    if trained.get("key") != key:
        raise TrainerError("internal", f"{out} holds the update {trained.get('key')}, expected {key}")
    for file in trained["files"]:
        path = out / file["path"]
        if not path.is_file() or path.stat().st_size != file["bytes"]:
            raise TrainerError("model", f"{path}: not there with its {file['bytes']} bytes, as {MARKER} lists it")
    return trained


def incoming_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.incoming")


@contextmanager
def incoming(out: Path) -> Iterator[Path]:
    """An empty folder beside `out` that only this process has. It is gone at the end, be it by `appear`."""
    folder = incoming_of(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    held = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TrainerError("internal", f"{out} is being made by another process") from error
        try:
            _empty(folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(held)


def _empty(folder: Path) -> None:
    """What a killed update left."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def appear(folder: Path, out: Path, described: Callable[[list[dict[str, object]]], Trained]) -> Trained:
    """Lists the files of `folder`'s model/ and optimizer/ in its marker, and renames it to `out`."""
    files = [
        {"path": path.relative_to(folder).as_posix(), "sha256": _sha256(path), "bytes": path.stat().st_size}
        for part in ("model", "optimizer")
        for path in files_below(folder / part)
    ]
    sync_tree(folder)
    trained = described(files)
    marker = folder / MARKER
    marker.write_text(json.dumps(trained, indent=2) + "\n")
    sync(marker)
    sync(folder)
    folder.rename(out)
    sync(out.parent)
    return trained


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
