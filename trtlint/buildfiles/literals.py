"""Index many fixed texts, to find out quickly which of them a message contains."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_BEGINNING = re.compile(r"\b\w{3}")
"""Pattern of the first three characters of a word. The index finds a text by the beginning of one of its
words.
"""


class Literals:
    """A set of fixed texts, with an index that quickly finds which of the texts a message contains.

    The index uses the first characters of one word of each text. A message is split into words once, in
    linear time. A text is searched in the message only if a word of the message has the same first
    characters. A text without a suitable word is always searched.

    Args:
        texts: the texts, possibly with repeats.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._places: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            self._places.setdefault(text, []).append(place)
        keys = {text: _beginnings(text) for text in self._places}
        common = Counter(key for found in keys.values() for key in found)
        self._always: list[str] = []
        self._by_key: dict[str, list[str]] = {}
        for text, found in keys.items():
            if found:
                rarest = min(found, key=lambda key: (common[key], key))
                self._by_key.setdefault(rarest, []).append(text)
            else:
                self._always.append(text)

    def candidates(self, message: str) -> list[str]:
        """Return the texts that a message may contain, each once."""
        found = [*self._always]
        for key in self._by_key.keys() & set(_BEGINNING.findall(message)):
            found += self._by_key[key]
        return found

    def inside(self, message: str) -> list[tuple[int, int]]:
        """Return the texts that a message contains, and their positions.

        Returns:
            Pairs of two numbers: the index of the text in ``texts``, and the position of the text in the
            message. The pairs are sorted.
        """
        found: list[tuple[int, int]] = []
        for text in self.candidates(message):
            at = message.find(text)
            if at >= 0:
                found += [(place, at) for place in self._places[text]]
        return sorted(found)


def _beginnings(text: str) -> list[str]:
    return [match[0] for match in _BEGINNING.finditer(text) if match.start()]
