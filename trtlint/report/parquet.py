"""Report as a Parquet table with a row for each finding, for very large scans.

https://parquet.apache.org
"""

from __future__ import annotations

import io
from typing import Any

from msgspec.structs import asdict

from trtlint.errors import SettingError
from trtlint.knowledge.extras import how_to_install
from trtlint.report.formats import Run
from trtlint.report.rows import NAMES, rows


def require() -> None:
    """Raise an error if pyarrow is not installed.

    Raises:
        SettingError: pyarrow is not installed.
    """
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise SettingError(f"parquet needs the package pyarrow: {how_to_install('parquet')}")


def content(run: Run) -> bytes:
    """Return the content of the Parquet file."""
    import pyarrow  # an extra
    from pyarrow import parquet

    listed = [asdict(row) for row in rows(run)]
    schema: Any = pyarrow.schema(
        [(name, pyarrow.int64() if name == "places" else pyarrow.string()) for name in NAMES]
    )
    columns = {name: [_storable(row[name]) for row in listed] for name in NAMES}
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns, schema=schema), buffer)
    return buffer.getvalue()


def _storable(value: Any) -> Any:
    """Escape lone surrogates in a value, because Parquet cannot store them.

    Python decodes bytes of a file name that are not UTF-8 to lone surrogates:
    https://peps.python.org/pep-0383/
    """
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
