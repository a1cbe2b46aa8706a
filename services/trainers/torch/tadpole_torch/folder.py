"""Model folders in Hugging Face's layout: what makes one whole, and how a new one is made from its parent."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError, safe_open

from tadpole_torch.errors import TrainerError

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "tekken.json")
"""One of them at least: engines load the tokenizer from the same folder."""


def check_model_folder(folder: Path) -> None:
    """Raises TrainerError `model` naming the first file that is missing or not whole."""
    if not folder.is_dir():
        raise TrainerError("model", f"{folder}: no such folder, expected a model in Hugging Face's layout")
    read_json(folder / "config.json")
    if not any((folder / name).is_file() for name in TOKENIZERS):
        raise TrainerError("model", f"{folder}: no tokenizer, expected one of {', '.join(TOKENIZERS)}")
    for shard in shards(folder):
        check_safetensors(folder / shard)


def shards(folder: Path) -> list[str]:
    """Names of the folder's weight files, sorted."""
    if not (folder / INDEX).exists():
        return [WEIGHTS]
    weight_map = read_json(folder / INDEX).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise TrainerError("model", f"{folder / INDEX}: expected a weight_map of tensor names to files")
    return sorted(set(weight_map.values()))


def read_json(path: Path) -> dict:
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise TrainerError("model", f"{path}: no such file") from error
    except (ValueError, OSError) as error:
        raise TrainerError("model", f"{path}: not readable as JSON ({error})") from error
    if not isinstance(value, dict):
        raise TrainerError("model", f"{path}: expected a JSON object")
    return value


def check_safetensors(path: Path) -> None:
    """The header against the file's length: a file cut short is found without reading it."""
    if not path.is_file():
        raise TrainerError("model", f"{path}: no such file, the folder is not whole")
    try:
        with safe_open(path, framework="np"):
            pass
    except (SafetensorError, OSError) as error:
        raise TrainerError("model", f"{path}: not a whole safetensors file ({error})") from error


def copy_companions(parent: Path, folder: Path, dtype: str) -> None:
    """All of the parent that is no weight, byte for byte; only the dtype that config.json names is the new weights' own."""
    weights = {*shards(parent), INDEX}
    for path in sorted(parent.iterdir()):
        if path.name in weights or path.name == "checkpoint.json":
            continue
        target = folder / path.name
        if path.is_dir():
            shutil.copytree(path, target, dirs_exist_ok=True)
        elif path.name == "config.json":
            target.write_text(_config_text(path, dtype))
        else:
            shutil.copyfile(path, target)


def _config_text(path: Path, dtype: str) -> str:
    """As the parent's, but for the dtype; `torch_dtype` is its name before transformers 5."""
    text = path.read_text()
    config = read_json(path)
    name = "torch_dtype" if "torch_dtype" in config and "dtype" not in config else "dtype"
    if config.get(name) == dtype:
        return text
    return json.dumps({**config, name: dtype}, indent=2, ensure_ascii=False) + "\n"


def sync_tree(folder: Path) -> None:
    """Files, then the folders that name them, reach the disk."""
    for path in [*files_below(folder), *sorted(each for each in folder.rglob("*") if each.is_dir()), folder]:
        sync(path)


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def files_below(folder: Path) -> Iterator[Path]:
    return iter(sorted(path for path in folder.rglob("*") if path.is_file()))
