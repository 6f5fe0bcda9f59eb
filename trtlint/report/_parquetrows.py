"""Worker process that converts the rows of a Parquet file to JSON Lines (:mod:`trtlint.process.spawn`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from trtlint.errors import TrtlintError

_AT_ONCE = 5_000
"""Rows to decode at a time."""


class _TooMuchError(TrtlintError):
    """Error: the Parquet file exceeds a limit."""


def work(request: dict[str, Any], say: Callable[[Any], None]) -> None:
    """Copy the rows of a Parquet file to a file of JSON Lines.

    Args:
        request: ``path`` is the Parquet file, ``lines`` is the file to write, and ``names`` are the columns
            to copy. The remaining keys are limits: ``rows`` limits the number of rows, ``bytes`` limits the
            size of all lines, and ``longest`` limits the size of one text. Sizes are in bytes.
        say: function that receives the error message if the rows cannot be copied.
    """
    import pyarrow

    try:
        with Path(request["lines"]).open("wb") as lines:
            _write(request, lines)
    except _TooMuchError as error:
        say(str(error))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        say(f"not readable Parquet: {' '.join(str(error).split())[:200]}")


def _write(request: dict[str, Any], lines: BinaryIO) -> None:
    from pyarrow import parquet

    present = parquet.read_schema(request["path"]).names
    columns = [name for name in request["names"] if name in present]
    # The columns stay dictionary-encoded, so a row refers to a long text by number, without a copy.
    file = parquet.ParquetFile(request["path"], read_dictionary=columns)
    if file.metadata.num_rows > request["rows"]:
        raise _TooMuchError(f"more than {request['rows']:,} rows; scan fewer models at a time")
    count = size = 0
    for batch in file.iter_batches(_AT_ONCE, columns=columns, use_threads=False):
        for row in zip(*(_values(column, request["longest"]) for column in batch.columns), strict=True):
            line = json.dumps(dict(zip(batch.schema.names, row, strict=True))).encode("ascii") + b"\n"
            count, size = count + 1, size + len(line)
            if count > request["rows"]:
                raise _TooMuchError(f"more than {request['rows']:,} rows; scan fewer models at a time")
            if size > request["bytes"]:
                limit = f"{request['bytes'] >> 20} MiB"
                raise _TooMuchError(
                    f"the rows of the file, written as JSON Lines, exceed {limit}; scan fewer models at "
                    "a time"
                )
            lines.write(line)


def _values(column: Any, longest: int) -> Iterator[Any]:
    """Yield the values of a column. Each value of a dictionary-encoded column is decoded only once."""
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        if column.nbytes > _AT_ONCE * longest:
            raise _TooMuchError(f"a string in the file is longer than {longest >> 20} MiB")
        yield from column.to_pylist()
        return
    if column.dictionary.nbytes > longest * 64:
        raise _TooMuchError(f"the strings in the file exceed {longest * 64 >> 20} MiB")
    texts = column.dictionary.to_pylist()
    for index in column.indices.to_pylist():
        yield None if index is None else texts[index]
