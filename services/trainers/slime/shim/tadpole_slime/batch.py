"""Batch files (docs/batch.md), read with pyarrow, which slime's own dependencies bring."""

from pathlib import Path

from tadpole_slime.samples import BatchError, Row

FORMAT, VERSION = b"tadpole-batch", b"1"


def read_rows(file: Path) -> list[Row]:
    import pyarrow as pa

    table = pa.ipc.open_file(pa.memory_map(str(file))).read_all()
    metadata = table.schema.metadata or {}
    if (metadata.get(b"format"), metadata.get(b"version")) != (FORMAT, VERSION):
        raise BatchError(f"{file}: expected a tadpole-batch of version 1")
    return [Row(**row) for row in table.to_pylist()]
