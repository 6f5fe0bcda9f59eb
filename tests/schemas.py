"""JSON Schemas of the documents that trtlint writes."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import REPOSITORY

FOLDER = REPOSITORY / "trtlint" / "report" / "schema"


def load(name: str) -> dict[str, Any]:
    """Load the JSON Schema (draft 2020-12) of a document.

    Args:
        name: the ``schema`` field of the document, such as ``trtlint.fix/1``.

    Raises:
        FileNotFoundError: the name is unknown.
    """
    file = FOLDER / f"{name.replace('/', '-')}.json"
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded
