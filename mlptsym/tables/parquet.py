"""Tables of a parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from mlptsym.tables.files import Content
from mlptsym.tables.table import Rows, Table
from mlptsym.validation import ParameterError

__all__ = ["parquet_table"]

SHOWN = 60  # characters of the library's message that an error shows


def parquet_table(content: Content) -> Table:
    """The columns of a parquet file; its "lines" are rows."""
    import pyarrow as pa
    from pyarrow import parquet

    def damaged(error: Exception) -> NoReturn:
        why = str(error).splitlines()[0][:SHOWN]
        raise ParameterError("trace", content.path, f"a whole parquet file ({why})") from error

    try:
        file = parquet.ParquetFile(pa.BufferReader(pa.py_buffer(content.data)))
        names = tuple(file.schema_arrow.names)
    except (pa.ArrowException, OSError) as error:
        damaged(error)

    def read(wanted: Sequence[str]) -> Rows:
        try:
            table = file.read(columns=list(dict.fromkeys(wanted)))
            cells = tuple(table[name].combine_chunks() for name in wanted)
        except (pa.ArrowException, OSError) as error:
            damaged(error)
        return Rows(cells, np.arange(1, table.num_rows + 1), (), list)

    return Table(names, 1, read)
