"""Parser for the front matter of a Markdown file: a small YAML tree with line numbers.

The parser supports only the YAML of rule files: mappings, sequences and text. Every scalar stays text, so
that a version ``0.10`` is not read as the number 0.1. Anchors, aliases and tags are rejected, so that a file
cannot construct objects. Nesting is limited, so that the time to read an untrusted file grows only linearly
with its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import yaml
from msgspec import Struct

from trtlint.errors import SettingError
from trtlint.knowledge.nearest import did_you_mean

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 12
_TOO_DEEP = "nested too deeply"
_FEW = 12
_LONGEST_WORD = 500
"""Largest length of a key, an id, a name, a summary, a URL or a version specifier, in characters."""

_Word = TypeVar("_Word", bound=str)


class FrontMatterError(SettingError):
    """Error in the front matter, with its line in the file (from 1)."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Item(Struct, frozen=True):
    """A value of the front matter, and the line of the file where it begins.

    Attributes:
        value: text, a list of items, or a mapping of keys to items.
        line: line in the file, from 1; for a block scalar (``|``) the line after the indicator.
    """

    value: str | list[Item] | dict[str, Item]
    line: int

    def text(self, what: str) -> str:
        """Return the text of a scalar. ``what`` names the value in the error message.

        Raises:
            FrontMatterError: the value is a list, a mapping, or empty.
        """
        if not isinstance(self.value, str):
            raise FrontMatterError(f"{what} must be text", self.line)
        if not self.value.strip():
            raise FrontMatterError(f"{what} is empty", self.line)
        return self.value

    def word(self, what: str) -> str:
        """Return the text of a scalar of limited length. ``what`` names the value in the error message.

        Raises:
            FrontMatterError: the value is not a text, or is too long.
        """
        return bounded(self.text(what), what, self.line)

    def choice(self, what: str, choices: Iterable[_Word]) -> _Word:
        """Return the element of ``choices`` that equals the text of a scalar.

        Raises:
            FrontMatterError: the value is not one of the choices.  The message names the nearest choice.
        """
        text, words = self.word(what), tuple(choices)
        for word in words:
            if word == text:
                return word
        raise FrontMatterError(f"{what}: unknown {text!r}{_hint(text, words)}", self.line)

    def is_true(self, what: str) -> bool:
        """Return whether a scalar is ``true``.

        Raises:
            FrontMatterError: the value is neither ``true`` nor ``false``.
        """
        return self.choice(what, ("true", "false")) == "true"

    def items(self, what: str) -> list[Item]:
        """Return the items of a list. ``what`` names the value in the error message.

        Raises:
            FrontMatterError: the value is not a list.
        """
        if not isinstance(self.value, list):
            raise FrontMatterError(f"{what} must be a list", self.line)
        return self.value

    def mapping(
        self, what: str, keys: Iterable[str] | None = None, required: Iterable[str] = ()
    ) -> Mapping[str, Item]:
        """Return the entries of a mapping.  If ``keys`` is given, the mapping must not have other keys.

        Raises:
            FrontMatterError: the value is not a mapping, has an unknown key, or lacks a required key.  The
                message about an unknown key names the nearest key.
        """
        if not isinstance(self.value, dict):
            raise FrontMatterError(f"{what} must be a mapping", self.line)
        if keys is not None:
            known = tuple(keys)
            for key, item in self.value.items():
                if key not in known:
                    raise FrontMatterError(f"{what}: unknown key {key!r}{_hint(key, known)}", item.line)
        for key in required:
            if key not in self.value:
                raise FrontMatterError(f"{what}: the key {key!r} is missing", self.line)
        return self.value


def bounded(text: str, what: str, line: int) -> str:
    """Return a text of limited length. ``what`` names the text in the error message.

    Raises:
        FrontMatterError: the text is too long.
    """
    if len(text) > _LONGEST_WORD:
        raise FrontMatterError(f"{what}: the text is longer than {_LONGEST_WORD} characters", line)
    return text


def _hint(word: str, words: Iterable[str]) -> str:
    """Return a hint about the allowed words, for an error message about an unknown word.

    The hint names the nearest allowed word, or all allowed words if there are few.
    """
    known = sorted(words)
    short = f"; there are {', '.join(known)}" if 0 < len(known) <= _FEW else ""
    return did_you_mean(word, known, otherwise=short)


def split(text: str) -> tuple[Item, str, int]:
    """Split a file into front matter and body.

    Returns:
        Three values: the front matter (the mapping between the two ``---`` lines), the body, and the line
        where the body begins (from 1).

    Raises:
        FrontMatterError: the front matter is missing, or uses YAML that rule files do not support.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        raise FrontMatterError("the file does not begin with a line '---'", 1)
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise FrontMatterError("the front matter is not closed by a line '---'", len(lines))
    # The opening line is kept empty, so that YAML line numbers are line numbers of the file.
    return _parse("\n".join(["", *lines[1:end], ""])), "\n".join(lines[end + 1 :]), end + 2


def _parse(text: str) -> Item:
    events = yaml.parse(text, Loader=_LOADER)
    try:
        for event in events:
            if isinstance(event, yaml.NodeEvent):
                return _item(event, events, 0)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = ", ".join(filter(None, (error.context, error.problem)))
        # libyaml 0.2.6 and newer looks ahead, and rejects 1,000 open brackets before the check in _item.
        message = _TOO_DEEP if "nesting depth" in message else message
        raise FrontMatterError(message or "not YAML", 1 if mark is None else mark.line + 1) from None
    except yaml.YAMLError as error:
        raise FrontMatterError(str(error).splitlines()[0], 1) from None
    raise FrontMatterError("the front matter is empty", 1)


def _item(event: yaml.NodeEvent, events: Iterator[yaml.Event], depth: int) -> Item:
    line = event.start_mark.line + 1 if event.start_mark else 1
    if isinstance(event, yaml.AliasEvent) or event.anchor:
        raise FrontMatterError("rule files do not support YAML anchors and aliases", line)
    if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag:
        raise FrontMatterError(f"rule files do not support YAML tags such as {event.tag!r}", line)
    if depth > _DEEPEST:
        raise FrontMatterError(_TOO_DEEP, line)
    if isinstance(event, yaml.ScalarEvent):
        return Item(event.value, line + (event.style in ("|", ">")))
    if isinstance(event, yaml.SequenceStartEvent):
        return Item([_item(child, events, depth + 1) for child in _children(events)], line)
    entries: dict[str, Item] = {}
    for child in _children(events):
        key = _item(child, events, depth + 1)
        if not isinstance(key.value, str):
            raise FrontMatterError("a key must be text", key.line)
        if len(key.value) > _LONGEST_WORD:
            raise FrontMatterError(f"a key is longer than {_LONGEST_WORD} characters", key.line)
        if key.value in entries:
            raise FrontMatterError(f"the key {key.value!r} is given twice", key.line)
        value = next(events)
        assert isinstance(value, yaml.NodeEvent)  # YAML's grammar: a key is followed by a value
        entries[key.value] = _item(value, events, depth + 1)
    return Item(entries, line)


def _children(events: Iterator[yaml.Event]) -> Iterator[yaml.NodeEvent]:
    """Yield the YAML nodes up to the end of the current list or mapping."""
    for event in events:
        if not isinstance(event, yaml.NodeEvent):
            return
        yield event
