"""Find the release that printed an error message, from the source line in the message.

The source lines of the releases are in source_lines.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from trtlint.knowledge import data

_SEARCHED = 1500
"""The search for a source line covers this number of characters of a message."""
_PLACES = ("[optimizer.cpp::", "/codeGenerator.cpp:")
"""Every message with a known source line contains one of these texts.

For a message without these texts, the table of source lines is not read.
"""


def release_of(message: str) -> Mapping[str, str]:
    """For each product, return the releases that can have printed an error message.

    The source code of these releases contains the message at the file and line that the message names.  The
    text for a product is empty if the product's release is unknown.  The mapping is empty if the message
    has no source line.
    """
    text = message[:_SEARCHED]
    if not any(place in text for place in _PLACES):
        return {}
    for entry in data("source_lines"):
        if found := re.search(entry["pattern"], text):
            releases: Mapping[str, str] = entry["releases"].get(found[1], entry["unknown"])
            return releases
    return {}
