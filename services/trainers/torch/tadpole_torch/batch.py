"""Reads batch files: Arrow IPC, one row per segment of a rollout, every rule of the format checked."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tadpole_torch.errors import TrainerError

FORMAT = "tadpole-batch"
VERSION = "1"
COLUMNS: dict[str, pa.DataType] = {
    "group": pa.utf8(),
    "rollout": pa.utf8(),
    "advantage": pa.float64(),
    "reward": pa.float64(),
    "raw": pa.uint8(),
    "tokens": pa.list_(pa.int32()),
    "trainable": pa.list_(pa.uint8()),
    "logprobs": pa.list_(pa.float64()),
}


@dataclass(frozen=True)
class Row:
    """One segment of N tokens."""

    rollout: str
    advantage: float
    """Of every trainable token."""
    tokens: np.ndarray
    """[N] int32."""
    trainable: np.ndarray
    """[N] uint8: 1 = sampled by the policy."""
    logprobs: np.ndarray
    """[N] float64: log q in nats at sampling time; 0 where not trainable."""


def read_batch(path: Path) -> list[Row]:
    """Rows of a batch file, in order. Raises TrainerError `batch` naming the file, and the row and field that break a rule."""
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except FileNotFoundError as error:
        raise TrainerError("batch", f"{path}: no such file") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise TrainerError("batch", f"{path}: not an Arrow IPC file ({error})") from error
    _check_schema(path, table.schema)
    return _rows(path, table.combine_chunks())


def _check_schema(path: Path, schema: pa.Schema) -> None:
    metadata = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    found = f"{metadata.get('format')} {metadata.get('version')}"
    if found != f"{FORMAT} {VERSION}":
        raise TrainerError("batch", f"{path}: expected format {FORMAT} {VERSION}, found {found}")
    expected = ", ".join(f"{name}: {_type_name(kind)}" for name, kind in COLUMNS.items())
    actual = ", ".join(f"{field.name}: {_type_name(field.type)}" for field in schema)
    if actual != expected:
        raise TrainerError("batch", f"{path}: expected columns {expected}; found {actual}")


def _type_name(kind: pa.DataType) -> str:
    """Name of the type without the names of its inner fields, which writers choose."""
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else str(kind)


def _rows(path: Path, table: pa.Table) -> list[Row]:
    count = table.num_rows
    if count == 0:
        return []
    chunks = {name: table.column(name).chunk(0) for name in COLUMNS}
    for name, chunk in chunks.items():
        inner = chunk.values.null_count if pa.types.is_list(chunk.type) else 0
        if chunk.null_count + inner > 0:
            raise TrainerError("batch", f"{path}: column {name} holds nulls, expected none")
    groups, rollouts = chunks["group"].to_pylist(), chunks["rollout"].to_pylist()
    advantages, rewards, raws = (chunks[name].to_numpy() for name in ("advantage", "reward", "raw"))
    lists = [_list_rows(chunks[name]) for name in ("tokens", "trainable", "logprobs")]
    rows: list[Row] = []
    for index in range(count):
        row = Row(rollouts[index], float(advantages[index]), *(each[index] for each in lists))
        fault = _fault(row, groups[index], float(rewards[index]), int(raws[index]))
        if fault is not None:
            raise TrainerError("batch", f"{path}: batch row {index} ({row.rollout}): {fault}")
        rows.append(row)
    return rows


def _list_rows(column: pa.ListArray) -> list[np.ndarray]:
    """Each row's values as a view into the file."""
    offsets = column.offsets.to_numpy()
    values = column.values.to_numpy()
    return [values[offsets[i] : offsets[i + 1]] for i in range(len(column))]


def _fault(row: Row, group: str, reward: float, raw: int) -> str | None:
    """The first rule that the row breaks, or None."""
    if group == "" or row.rollout == "":
        return "group and rollout must not be empty"
    for name, value in (("advantage", row.advantage), ("reward", reward)):
        if not np.isfinite(value):
            return f"{name} is {value}, expected a finite number"
    if raw not in (0, 1):
        return f"raw is {raw}, expected 0 or 1"
    lengths = len(row.tokens), len(row.trainable), len(row.logprobs)
    if lengths[0] == 0:
        return "tokens is empty"
    if len(set(lengths)) > 1:
        return f"tokens, trainable and logprobs have {lengths[0]}, {lengths[1]} and {lengths[2]} elements, expected equally many"
    return _token_fault(row)


def _token_fault(row: Row) -> str | None:
    rules = (
        ("tokens", row.tokens, row.tokens < 0, "expected an integer from 0 to 2^31-1"),
        ("trainable", row.trainable, row.trainable > 1, "expected 0 or 1"),
        ("logprobs", row.logprobs, ~np.isfinite(row.logprobs), "expected a finite number"),
        ("logprobs", row.logprobs, (row.trainable == 0) & (row.logprobs != 0), "expected 0 where trainable is 0"),
    )
    broken = [(int(wrong.argmax()), name, values, expected) for name, values, wrong, expected in rules if wrong.any()]
    if not broken:
        return None
    at, name, values, expected = min(broken, key=lambda each: each[0])
    return f"{name}[{at}] is {values[at]}, {expected}"
