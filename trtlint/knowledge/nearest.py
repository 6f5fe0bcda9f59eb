"""Suggest known words for a misspelt word."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], *, count: int = 1, cutoff: float = 0.5) -> tuple[str, ...]:
    """Return the known words that are most similar to ``word``, the most similar first.

    Args:
        word: the misspelt word; case, ``_`` and ``-`` are ignored.
        known: the valid words.
        count: the maximum number of suggestions.
        cutoff: the minimum similarity, from 0 to 1 (:meth:`difflib.SequenceMatcher.ratio`).
    """
    from difflib import get_close_matches  # imported late: only errors need it

    words = {_folded(text): text for text in known}
    return tuple(words[text] for text in get_close_matches(_folded(word), words, count, cutoff))


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """Return a suggestion for the end of an error message, such as ``; did you mean 'select'?``.

    Args:
        word: the misspelt word.
        known: the valid words.
        otherwise: the result if no word is similar.
    """
    near = nearest(word, known)
    return f"; did you mean {near[0]!r}?" if near else otherwise


def _folded(text: str) -> str:
    return text.casefold().replace("_", "-")
