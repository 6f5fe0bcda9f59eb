"""Reading the lines of a pattern; :mod:`trtlint.language.pattern` says what they mean."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

import onnx

from trtlint.errors import SettingError
from trtlint.knowledge.nearest import nearest
from trtlint.lean import dataclass
from trtlint.model.operators import COMMUTATIVE

MAX_LINES = 16
MAX_ARGUMENTS = 16
_LONGEST_LINE = 1_000

RESERVED = frozenset({"target", "model", "constants"})
"""Names that expressions use for something else."""


class PatternError(SettingError):
    """What is wrong with a pattern, in which line and column (both from 1)."""

    def __init__(self, message: str, line: int, column: int = 1) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.message = message
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Argument:
    """An input in a line: its name (None for ``_``), and whether it has ``~`` before or ``?`` behind."""

    name: str | None
    through: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a pattern, which stands for one node.

    Attributes:
        number: the line in the text, from 1.
        ops: the operators it may be, each with its domain.
        inputs: in order.
        outputs: the names of the outputs, None for ``_``.
        more_inputs: whether further inputs are allowed.
        more_outputs: whether further outputs may be in use.
    """

    number: int
    ops: frozenset[tuple[str, str]]
    inputs: tuple[Argument, ...]
    outputs: tuple[str | None, ...]
    more_inputs: bool
    more_outputs: bool

    @property
    def commutative(self) -> bool:
        """Whether the inputs may come in any order."""
        return all(domain == "" and op in COMMUTATIVE for domain, op in self.ops)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name in the line."""
        named = [argument.name for argument in self.inputs]
        return tuple(name for name in (*self.outputs, *named) if name is not None)


_LINE = re.compile(r"(?:(?P<outputs>[^=()]*)=)?(?P<ops>[^=()]*)\((?P<inputs>[^=()]*)\)\s*")
_OPERATOR = re.compile(r"(?:(?P<domain>[A-Za-z_][\w.]*)::)?(?P<op>[A-Za-z_]\w*)")
_INPUT = re.compile(r"(?P<through>~?)\s*(?P<name>[A-Za-z_]\w*)\s*(?P<optional>\??)")
_NAME = re.compile(r"[A-Za-z_]\w*")


def read_lines(text: str) -> tuple[Line, ...]:
    """The lines of a pattern, each checked by itself.

    Raises:
        PatternError: a line is wrong, or there are none, or too many.
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


def _line(raw: str, number: int) -> Line:
    found = _LINE.fullmatch(raw)
    if found is None:
        start = len(raw) - len(raw.lstrip()) + 1
        raise PatternError("a line is written as 'y = Operator(x, w)'", number, start)
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
            raise PatternError(f"{word!r} is no name of an output", number, column)
    if len(inputs) > MAX_ARGUMENTS or len(outputs) > MAX_ARGUMENTS:
        raise PatternError(f"a line has at most {MAX_ARGUMENTS} inputs and outputs", number)
    ops = frozenset(_operators(found, number))
    return Line(number, ops, tuple(inputs), tuple(outputs), more_inputs, more_outputs)


def _words(found: re.Match[str], group: str, number: int) -> Iterator[tuple[int, str]]:
    """The words of a list with commas, each with its column."""
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


def _argument(word: str, number: int, column: int) -> Argument:
    found = _INPUT.fullmatch(word)
    if found is None:
        raise PatternError(f"{word!r} is no input: write x, ~x, x?, _ or ...", number, column)
    name = _name(found["name"], number, column)
    return Argument(name, bool(found["through"]), bool(found["optional"]))


def _name(word: str, number: int, column: int) -> str | None:
    if word == "_":
        return None
    if keyword.iskeyword(word) or word in RESERVED:
        raise PatternError(f"{word!r} cannot be the name of a value", number, column)
    return word


def _operators(found: re.Match[str], number: int) -> Iterator[tuple[str, str]]:
    start = found.start("ops")
    for word in found["ops"].split("|"):
        column = start + len(word) - len(word.lstrip()) + 1
        start += len(word) + 1
        operator = _OPERATOR.fullmatch(word.strip())
        if operator is None:
            raise PatternError(f"{word.strip()!r} is no operator", number, column)
        domain, op = operator["domain"] or "", operator["op"]
        domain = "" if domain == "ai.onnx" else domain
        if not domain and not onnx.defs.has(op):
            # Plugins live in the default domain too, so only what looks like a slip is refused.
            known = (schema.name for schema in onnx.defs.get_all_schemas())
            if near := nearest(op, known, cutoff=0.85):
                raise PatternError(f"no operator {op!r}; did you mean {near[0]!r}?", number, column)
        yield domain, op
