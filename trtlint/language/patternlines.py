"""Parse the lines of a pattern.  :mod:`trtlint.language.pattern` defines the meaning of a line."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

import onnx
from msgspec import Struct

from trtlint.errors import SettingError
from trtlint.knowledge.nearest import nearest
from trtlint.model.operators import COMMUTATIVE

MAX_LINES = 16
MAX_ARGUMENTS = 16
_LONGEST_LINE = 1_000

RESERVED = frozenset({"target", "model", "constants"})
"""Names that a pattern cannot use, because they have another meaning in expressions."""


class PatternError(SettingError):
    """An error in a pattern, with its line and column (both from 1)."""

    def __init__(self, message: str, line: int, column: int = 1) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.message = message
        self.line = line
        self.column = column


class PatternInput(Struct, frozen=True):
    """An input in a line of a pattern, such as ``x``, ``~x`` or ``x?``. The input ``_`` has the name None."""

    name: str | None
    through: bool = False
    optional: bool = False


class PatternLine(Struct, frozen=True):
    """A line of a pattern.  It matches one node.

    Attributes:
        number: the line in the text, from 1.
        ops: the domains and types of the operators that match.
        inputs: the inputs, in order.
        outputs: the names of the outputs; None for ``_``.
        more_inputs: true if the node may have further inputs.
        more_outputs: true if the node may have further outputs that are read.
    """

    number: int
    ops: frozenset[tuple[str, str]]
    inputs: tuple[PatternInput, ...]
    outputs: tuple[str | None, ...]
    more_inputs: bool
    more_outputs: bool

    @property
    def commutative(self) -> bool:
        """Return True if the order of the inputs is irrelevant, because all operators are commutative."""
        return all(domain == "" and op in COMMUTATIVE for domain, op in self.ops)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the inputs and outputs in the line."""
        named = [argument.name for argument in self.inputs]
        return tuple(name for name in (*self.outputs, *named) if name is not None)


_LINE = re.compile(r"(?:(?P<outputs>[^=()]*)=)?(?P<ops>[^=()]*)\((?P<inputs>[^=()]*)\)\s*")
_OPERATOR = re.compile(r"(?:(?P<domain>[A-Za-z_][\w.]*)::)?(?P<op>[A-Za-z_]\w*)")
_INPUT = re.compile(r"(?P<through>~?)\s*(?P<name>[A-Za-z_]\w*)\s*(?P<optional>\??)")
_NAME = re.compile(r"[A-Za-z_]\w*")


def read_lines(text: str) -> tuple[PatternLine, ...]:
    """Parse the lines of a pattern, without checking how they are connected.

    Raises:
        PatternError: a line is wrong, or the pattern has no lines or too many.
    """
    lines = []
    for number, raw in enumerate(text.split("\n"), 1):
        if raw.partition("#")[0].strip():
            if len(raw) > _LONGEST_LINE:
                raise PatternError(f"the line is longer than {_LONGEST_LINE} characters", number)
            lines.append(_line(raw.partition("#")[0], number))
            if len(lines) > MAX_LINES:
                raise PatternError(f"a pattern has at most {MAX_LINES} lines", number)
    if not lines:
        raise PatternError("the pattern is empty", 1)
    return tuple(lines)


def _line(raw: str, number: int) -> PatternLine:
    found = _LINE.fullmatch(raw)
    if found is None:
        start = len(raw) - len(raw.lstrip()) + 1
        raise PatternError("a line must have the form 'y = Operator(x, w)'", number, start)
    inputs, more_inputs = [], False
    for column, word in _words(found, "inputs", number):
        if more_inputs:
            raise PatternError("'...' must come last", number, column)
        if word == "...":
            more_inputs = True
        else:
            inputs.append(_argument(word, number, column))
    outputs: list[str | None] = []
    more_outputs = False
    for column, word in _words(found, "outputs", number):
        if more_outputs:
            raise PatternError("'...' must come last", number, column)
        if word == "...":
            more_outputs = True
        elif _NAME.fullmatch(word):
            outputs.append(_name(word, number, column))
        else:
            raise PatternError(f"{word!r} is not a valid output name", number, column)
    if len(inputs) > MAX_ARGUMENTS or len(outputs) > MAX_ARGUMENTS:
        raise PatternError(
            f"a line may have at most {MAX_ARGUMENTS} inputs and {MAX_ARGUMENTS} outputs", number
        )
    ops = frozenset(_operators(found, number))
    return PatternLine(number, ops, tuple(inputs), tuple(outputs), more_inputs, more_outputs)


def _words(found: re.Match[str], group: str, number: int) -> Iterator[tuple[int, str]]:
    """Yield the column and the text of each name in a comma-separated list."""
    text = found[group]
    if text is None or (group == "inputs" and not text.strip()):
        return
    start = found.start(group)
    for word in text.split(","):
        column = start + len(word) - len(word.lstrip()) + 1
        if not word.strip():
            raise PatternError("a name is missing", number, column)
        yield column, word.strip()
        start += len(word) + 1


def _argument(word: str, number: int, column: int) -> PatternInput:
    found = _INPUT.fullmatch(word)
    if found is None:
        raise PatternError(f"{word!r} is not a valid input: write x, ~x, x?, _ or ...", number, column)
    name = _name(found["name"], number, column)
    return PatternInput(name, bool(found["through"]), bool(found["optional"]))


def _name(word: str, number: int, column: int) -> str | None:
    if word == "_":
        return None
    if keyword.iskeyword(word) or word in RESERVED:
        raise PatternError(f"{word!r} is not a valid name of a value", number, column)
    return word


def _operators(found: re.Match[str], number: int) -> Iterator[tuple[str, str]]:
    start = found.start("ops")
    for word in found["ops"].split("|"):
        column = start + len(word) - len(word.lstrip()) + 1
        start += len(word) + 1
        operator = _OPERATOR.fullmatch(word.strip())
        if operator is None:
            raise PatternError(f"{word.strip()!r} is not an operator", number, column)
        domain, op = operator["domain"] or "", operator["op"]
        domain = "" if domain == "ai.onnx" else domain
        if not domain and not onnx.defs.has(op):
            # Plugins are in the default domain, too, so reject only names that look like a typo.
            known = (schema.name for schema in onnx.defs.get_all_schemas())
            if near := nearest(op, known, cutoff=0.85):
                raise PatternError(f"unknown operator {op!r}; did you mean {near[0]!r}?", number, column)
        yield domain, op
