"""JSON Schemas of the documents that trtlint writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def load(name: str) -> dict[str, Any]:
    """Load the JSON Schema (draft 2020-12) of a document.

    Args:
        name: the ``schema`` field of the document, such as ``trtlint.fix/1``.

    Raises:
        FileNotFoundError: the name is unknown.
    """
    file = Path(__file__).with_name("schema") / f"{name.replace('/', '-')}.json"
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded
