"""JSON Schemas of the documents that trtlint writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trtlint.report.json import SCHEMA as REPORT


def load(name: str) -> dict[str, Any]:
    """Load the JSON Schema (draft 2020-12) of a document.

    The result includes the definitions that several schemas share.

    Args:
        name: the ``schema`` field of the document, such as ``trtlint.fix/1``.

    Raises:
        FileNotFoundError: the name is unknown.
    """
    schema = _read(name)
    shared = {} if name == REPORT else _read(REPORT)["$defs"]
    return {**schema, "$defs": {**shared, **schema.get("$defs", {})}}


def _read(name: str) -> dict[str, Any]:
    file = Path(__file__).with_name("schema") / f"{name.replace('/', '-')}.json"
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded
