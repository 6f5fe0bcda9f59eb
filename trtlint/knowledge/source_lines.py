"""Releases by the lines of the library's source that its errors give: the file source_lines.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping

from trtlint.knowledge import data

_SEARCHED = 1500
"""Characters of a message that are searched."""
_PLACES = ("[optimizer.cpp::", "/codeGenerator.cpp:")
"""What every message has that gives a line: the file is read for no other."""


def release_of(message: str) -> Mapping[str, str]:
    """Return the releases whose source has the line that an error gives, by product.

    A release that is not known is empty; there is no product where the message gives no such line.
    """
    text = message[:_SEARCHED]
    if not any(place in text for place in _PLACES):
        return {}
    for entry in data("source_lines"):
        if found := re.search(entry["pattern"], text):
            releases: Mapping[str, str] = entry["releases"].get(found[1], entry["unknown"])
            return releases
    return {}
