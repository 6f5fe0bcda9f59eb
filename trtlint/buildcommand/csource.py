"""Read provider options and commands in source code of C++, C#, CUDA and Java.

The text is split into tokens, and never compiled.  Values that the program computes are unknown.
https://onnxruntime.ai/docs/execution-providers/TensorRT-ExecutionProvider.html#configurations
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from trtlint.buildcommand.command import (
    COMPUTED,
    BuildCommand,
    CommandError,
    Option,
    Search,
    provider_command,
)
from trtlint.buildcommand.dialects import PROGRAM
from trtlint.buildcommand.providers import PREFIXES
from trtlint.knowledge.providers import PROVIDERS, provider_options

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])'"""
    r"""|[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*|\d[\w']*|<<|[=!<>]=|[^\s\w"]""",
    re.DOTALL,
)
"""Pattern of one token: a comment, string, character, name, number or operator.

A name is for example ``a.trt_fp16_enable``. An unclosed comment ends at the end of the file, and an unclosed
string at the end of the line.
"""
_PARTS = re.compile(r"\.|->|::")
_STRUCT = re.compile(r"OrtTensorRTProviderOptions\b")
"""Pattern of the type whose fields are options."""
_APPENDED = re.compile(
    r"(?:(?:Ort)?SessionOptions)?AppendExecutionProvider_Tensor(?:RT|rt)(?:_V2)?"
    r"|addTensorrt|MakeSessionOptionWithTensorrtProvider"
)
"""Pattern of a function that adds the provider of TensorRT to a session in C, C++, C# or Java."""
_FORMAT = re.compile(r"%[-+ #]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[sdiufx]|\{[^{}]{0,200}\}")
"""Pattern of a placeholder in a format of ``snprintf``, ``std::format`` or C#."""
_CALL = re.compile(rf"(?:{PROGRAM.pattern})(?:\.exe)?[\"']?\s+['\"]?-", re.IGNORECASE)
_MOST_TOKENS = 400_000
_MOST_VALUE = 40
"""Maximum number of tokens of a value.  A longer value counts as computed."""
_LONGEST = 100
"""Maximum number of tokens that are searched for the end of an expression."""
_NUMBER = re.compile(r"(\d[\d']{0,40})[uUlLzZ]*")
_SETTER = re.compile(r"(?:try_?)?(?:add|emplace|put)|insert_or_assign|set\w*", re.IGNORECASE)
"""Pattern of a function that takes the name and the value of an option.

Other functions with these arguments, such as ``get`` or ``value``, can take a default or a description.
"""
_RUNNERS = frozenset({"exec", "popen", "_popen", "system"})
"""Functions that run their argument as a command."""
_DEEPEST_LIST = 4
"""Maximum number of brackets between a pair and the function that takes its list."""


class _Token(Struct, frozen=True):
    """One token of a program.

    Attributes:
        text: the token.
        start: the position in the text.
        depth: the number of open blocks.
    """

    text: str
    start: int
    depth: int

    @property
    def string(self) -> str | None:
        """The content of a string literal, or None for any other token."""
        return self.text[1:].removesuffix('"') if self.text.startswith('"') else None


class _OptionValue(Struct, frozen=True):
    """A value that a program gives to an option.  A computed or conditional value is None."""

    name: str
    value: str | None
    start: int


def commands_in_source(text: str, source: str, search: Search) -> tuple[BuildCommand, ...]:
    """Return the provider options and the build commands in a program, in order.

    Args:
        text: the program.
        source: the name of the file, for reports.
        search: the function that finds commands in the text of a shell command.

    Raises:
        CommandError: the program has too many tokens.
    """
    tokens = _tokens(text)
    if len(tokens) > _MOST_TOKENS:
        raise CommandError(f"{source}: more than {_MOST_TOKENS:,} tokens, the limit for a source file")
    ends = [found.start() for found in re.finditer("\n", text)]
    found = [replace(each, line=bisect(ends, each.line) + 1) for each in _shell(tokens, source, search)]
    fields = _STRUCT.search(text) is not None
    given = list(_given(tokens, fields=fields))
    for provider in PROVIDERS:
        own = [each for each in given if each.name in provider_options(provider)]
        own = own if any(each.name.startswith(PREFIXES[provider]) for each in own) else []
        starts = [each.start for each in own]
        if not starts and provider == "tensorrt":
            starts = [
                each.start for each in tokens if _APPENDED.fullmatch(_PARTS.split(each.text)[-1]) is not None
            ]
        if starts:
            line = bisect(ends, starts[0]) + 1
            found.append(provider_command(provider, _merged(own), source, line, complete=False))
    return tuple(sorted(found, key=lambda each: each.line))


def _merged(given: Sequence[_OptionValue]) -> Iterator[Option]:
    """Yield one option for each name.  If the values differ, the value is unknown."""
    values: dict[str, set[str | None]] = {}
    for each in given:
        values.setdefault(each.name, set()).add(each.value)
    for name, known in values.items():
        value = next(iter(known)) if len(known) == 1 else None
        yield Option(name, value, known=value is not None)


def _tokens(text: str) -> list[_Token]:
    """Return the tokens of a program, without comments.  Stop above the maximum number of tokens."""
    found: list[_Token] = []
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token.startswith(("//", "/*")):
            continue
        depth -= token == "}"
        found.append(_Token(token, match.start(), depth))
        depth += token == "{"
        if len(found) > _MOST_TOKENS:
            break
    return found


def _given(tokens: Sequence[_Token], *, fields: bool) -> Iterator[_OptionValue]:
    """Yield the options that a program sets.

    The function finds options in pairs of a name and a value (in a list, a call or a dictionary), and in two
    lists, one of names and one of values. If ``fields`` is true, it also finds options in fields of a
    structure.
    """
    known = {name for provider in PROVIDERS for name in provider_options(provider)}
    first = _first_depths(tokens)
    done = 0
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if place < done:
            continue
        if token.text in ("(", "[", "{"):
            opened.append(place)
        elif token.text in (")", "]", "}"):
            del opened[-1:]
        elif token.string in known:
            names = _strings(tokens, place) if place and tokens[place - 1].text in "{[" else []
            if len(names) > 1 and all(name in known for name in names):
                yield from _columns(tokens, place, names)
                done = place + 2 * len(names) - 1
            else:
                yield from _pair(tokens, place, opened, first)
        elif fields and _text(tokens, place + 1) == "=":
            parts = _PARTS.split(token.text)
            if len(parts) > 1 and parts[-1] in known:
                value = _value(tokens, place + 2)
                certain = _certain(tokens, place, first)
                yield _OptionValue(parts[-1], value if certain else None, token.start)


def _first_depths(tokens: Sequence[_Token]) -> dict[str, int]:
    """For each name, return the number of open blocks at its first occurrence.

    The block of a function is counted for the parameters of the function.
    """
    found: dict[str, int] = {}
    parentheses = 0
    for token in tokens:
        parentheses += (token.text == "(") - (token.text == ")")
        if _is_name(token.text):
            found.setdefault(_PARTS.split(token.text)[0], token.depth + (parentheses > 0))
    return found


def _certain(tokens: Sequence[_Token], place: int, first: dict[str, int]) -> bool:
    """Return whether a statement runs on every path after the declaration of its first name."""
    token = tokens[place]
    owner = _PARTS.split(token.text)[0]
    return token.depth <= first.get(owner, 0) and _text(tokens, place - 1) not in (")", "else")


def _text(tokens: Sequence[_Token], place: int) -> str:
    """Return the token at a position, or an empty text outside of the program."""
    return tokens[place].text if 0 <= place < len(tokens) else ""


def _strings(tokens: Sequence[_Token], place: int) -> list[str]:
    """Return the strings of a list. If the list also has other elements, return an empty list.

    ``place`` is the position of the first element.
    """
    found: list[str] = []
    while place < len(tokens) and (string := tokens[place].string) is not None:
        found.append(string)
        following = _text(tokens, place + 1)
        if following != ",":
            return found if following in ("}", "]") else []
        place += 2
        if _text(tokens, place) in ("}", "]"):
            return found
    return []


def _columns(tokens: Sequence[_Token], place: int, names: Sequence[str]) -> Iterator[_OptionValue]:
    """Yield the options of two lists: a list of names, and the list of values that follows.

    If the lists differ in length, the values are unknown.
    """
    end = place + 2 * len(names)
    opening = next((at for at in range(end, min(end + 60, len(tokens))) if tokens[at].text == "{"), None)
    values: list[str | None] = []
    if opening is not None:
        at = opening + 1
        while at < len(tokens) and len(values) <= len(names) and tokens[at].text != "}":
            length = _length(tokens, at)
            values.append(_value(tokens, at))
            at += length + (_text(tokens, at + length) == ",")
    known = values if len(values) == len(names) else [None] * len(names)
    for name, value in zip(names, known, strict=True):
        yield _OptionValue(name, value, tokens[place].start)


def _pair(
    tokens: Sequence[_Token], place: int, opened: Sequence[int], first: dict[str, int]
) -> Iterator[_OptionValue]:
    """Yield the option whose name is at a position: ``{"a", "1"}``, ``f("a", "1")`` or ``x["a"] = "1"``."""
    before, following, owner = _text(tokens, place - 1), _text(tokens, place + 1), place - 2
    at = place + 2
    certain = owner >= 0 and _certain(tokens, owner, first)
    if before == "{" and following == ",":
        function = _function(tokens, opened)
        certain = function is None or _certain(tokens, function, first)
    elif before == "(" and following == ",":
        certain = certain and _SETTER.fullmatch(_PARTS.split(_text(tokens, owner))[-1]) is not None
    elif before == "[" and following == "]" and _text(tokens, at) == "=":
        at = place + 3
        certain = certain or _text(tokens, owner) in ("{", ",")  # new Dictionary<...> { ["a"] = "1" }
    else:
        return
    yield _OptionValue(
        tokens[place].string or "", _value(tokens, at) if certain else None, tokens[place].start
    )


def _function(tokens: Sequence[_Token], opened: Sequence[int]) -> int | None:
    """Return the position of the function whose argument is the innermost open list, or None."""
    for at in reversed(opened[-_DEEPEST_LIST:]):
        before = _text(tokens, at - 1)
        if tokens[at].text == "(":
            return at - 1 if _is_name(before) else None
        if before not in ("{", ",", "("):
            return None
    return None


def _is_name(text: str) -> bool:
    return text[:1].isalpha() or text[:1] == "_"


def _length(tokens: Sequence[_Token], place: int) -> int:
    """Return the number of tokens of an expression."""
    nested = 0
    for at in range(place, min(place + _LONGEST, len(tokens))):
        text = tokens[at].text
        if nested == 0 and text in (",", ";", "}", ")", "]"):
            return at - place
        nested += (text in "([{") - (text in ")]}")
    return min(_LONGEST, len(tokens) - place)


def _value(tokens: Sequence[_Token], place: int) -> str | None:
    """Return the value of an expression of constants as text, or None for any other expression."""
    length = _length(tokens, place)
    words = [each.text for each in tokens[place : place + min(length, _MOST_VALUE + 1)]]
    if len(words) == 1 and tokens[place].string is not None:
        return tokens[place].string
    if len(words) == 1 and words[0] in ("true", "false"):
        return str(int(words[0] == "true"))
    return _product([word for word in words if word not in ("(", ")", "size_t", "int64_t", "uint64_t")])


def _product(words: Sequence[str]) -> str | None:
    """Return the value of a product of numbers, or of a left shift such as ``1 << 30``, or None."""
    numbers = [_NUMBER.fullmatch(word) for word in words[::2]]
    operators = set(words[1::2])
    if not numbers or len(words) % 2 == 0 or len(words) > _MOST_VALUE:
        return None
    values = [int(each.group(1).replace("'", "")) if each else -1 for each in numbers]
    if min(values) < 0 or max(values) >= 1 << 63:
        return None
    if operators == {"<<"} and len(values) == 2 and values[1] < 64:
        return str(values[0] << values[1])
    product = 1
    for value in values:
        product = min(product * value, 1 << 64)
    return str(product) if operators <= {"*"} else None


def _shell(tokens: Sequence[_Token], source: str, search: Search) -> Iterator[BuildCommand]:
    """Yield the commands in the strings of a program.  The field ``line`` has the position in the program.

    Strings that ``+`` or ``<<`` joins are one command.  Its computed parts are shown as variables.  If the
    string is not the argument of a function that runs commands, the program may add further options.
    """
    done = 0
    for place, token in enumerate(tokens):
        if place < done or token.string is None or PROGRAM.search(token.string) is None:
            continue
        text, done = _joined(tokens, place)
        if _CALL.search(text):
            text = text if _runs(tokens, place) else f"{text} {COMPUTED}"
            yield from (replace(each, line=token.start) for each in search(text, source))


def _runs(tokens: Sequence[_Token], place: int) -> bool:
    """Return whether the string at a position is the argument of a function that runs a command."""
    function = place - 1
    while _text(tokens, function) == "(":
        function -= 1
    return function < place - 1 and _PARTS.split(_text(tokens, function))[-1] in _RUNNERS


def _joined(tokens: Sequence[_Token], place: int) -> tuple[str, int]:
    """Join the strings of an expression.  Return the text and the position after the expression."""
    parts: list[str] = []
    end = place
    for token in tokens[place : place + 200]:
        if token.string is not None:
            text = token.string.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
            parts.append(_FORMAT.sub(COMPUTED, text))
        elif token.text in (",", ";", "}", ")", "<"):
            break
        elif token.text not in ("+", "<<", "("):
            parts.append(COMPUTED)
        end += 1
    return "".join(parts), end
