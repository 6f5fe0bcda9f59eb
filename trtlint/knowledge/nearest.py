"""The known words that an unknown one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], *, count: int = 1, cutoff: float = 0.5) -> tuple[str, ...]:
    """The known words that look most like a word, the nearest first.

    Args:
        word: what was written; upper and lower case, ``_`` and ``-`` are alike.
        known: the words that there are.
        count: at most so many.
        cutoff: how alike they must be, from 0 to 1, which is the same word
            (:meth:`difflib.SequenceMatcher.ratio`).
    """
    from difflib import get_close_matches  # only an error needs it

    words = {_folded(text): text for text in known}
    return tuple(words[text] for text in get_close_matches(_folded(word), words, count, cutoff))


def did_you_mean(word: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """``; did you mean 'select'?``, to stand behind an error.

    Args:
        word: what was written.
        known: the words that there are.
        otherwise: what it is where nothing looks like the word.
    """
    near = nearest(word, known)
    return f"; did you mean {near[0]!r}?" if near else otherwise


def _folded(text: str) -> str:
    return text.casefold().replace("_", "-")
