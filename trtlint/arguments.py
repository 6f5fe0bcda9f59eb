"""Check the arguments of the Python API before any other code uses them.

:data:`ARGUMENTS` has a function for each argument, called a reader. A reader checks the value and converts
it, for example a path to a text. For a wrong value, the reader raises :class:`~trtlint.errors.ArgumentError`.
The message names the argument, the value and the allowed values. None means that the caller did not give the
argument.
"""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, get_args

from trtlint.buildcommand.shapes import Shape, read_shapes
from trtlint.buildfiles.kinds import FILE_KINDS, GivenAs
from trtlint.engine.finding import CONFIDENCES
from trtlint.errors import ArgumentError, SettingError
from trtlint.inputfiles import BATCH, batch_reader, can_iterate
from trtlint.knowledge.providers import PROVIDERS
from trtlint.knowledge.releases import PRODUCTS
from trtlint.optionnames import unknown_keyword
from trtlint.policy.options import MOST_SECONDS, RELEASE, FailOn
from trtlint.remote.addresses import is_address, parse
from trtlint.runs.evidencefiles import EVIDENCE_FILES, EvidenceFile
from trtlint.target.flags import Flag
from trtlint.target.target import Target

Reader = Callable[[str, Any], Any]
"""Function that checks and converts an argument.  It takes the name and the value."""

_MOST = (1 << 63) - 1
_MOST_MEMORY = 1 << 50
_FILE = "a path"
_SHAPES = "shapes such as 'x:1x3x224x224' or {'x': (1, 3, 224, 224)}"
_COMPARE = "True, 'probe', or paths of .npz files or of folders with .npz files"


def read(given: Mapping[str, object], known: Iterable[str] | None = None) -> dict[str, Any]:
    """Check and convert arguments.  Arguments that are None are left out.

    Args:
        given: the arguments by name.
        known: the allowed names; by default all names of :data:`ARGUMENTS`.

    Raises:
        ArgumentError: an argument does not exist, or its value is wrong.
    """
    names = ARGUMENTS if known is None else [*known]
    for name in given:
        if name not in names:
            raise unknown_keyword(name, names)
    return {name: ARGUMENTS[name](name, value) for name, value in given.items() if value is not None}


def read_one(name: str, value: object, shown: str = "") -> Any:
    """Check and convert a required argument.  ``shown`` is its name in errors, if the name differs.

    Raises:
        ArgumentError: the value is wrong, or None.
    """
    return ARGUMENTS[name](shown or name, value)


def read_file(name: str, value: object) -> str:
    """Check that an argument is the path or the address of one model, and return the argument.

    Raises:
        ArgumentError: the value is not a path, or is the path of a folder.
    """
    text: str = _path(_FILE)(name, value)
    if os.path.isdir(text):  # noqa: PTH112
        raise ArgumentError.of(name, text, "a file, not a folder")
    return text


def read_local(name: str, value: object) -> Path:
    """Check that an argument is the path of one local file, and return the path.

    Raises:
        ArgumentError: the value is not a path, or is the path of a folder.
        SettingError: the value is an address.
    """
    text = read_file(name, value)
    if is_address(text):
        raise SettingError(f"{parse(text).name}: the model must be a local file; download it first")
    return Path(text)


def read_paths(name: str, value: object) -> tuple[str, ...]:
    """Check that an argument is a path or a sequence of paths, and return the paths.

    Raises:
        ArgumentError: the value is not a path and not a sequence of paths.
    """
    return tuple(_PATHS(name, value))


def _switch(name: str, value: object) -> bool:
    if type(value).__name__ not in ("bool", "bool_"):  # NumPy's type is called bool or bool_
        raise ArgumentError.of(name, value, "True or False")
    return bool(value)


def _text(expected: str) -> Reader:
    def read_text(name: str, value: object) -> str:
        if not isinstance(value, str):
            raise ArgumentError.of(name, value, expected)
        return value

    return read_text


def _choice(*allowed: str) -> Reader:
    expected = f"one of {', '.join(map(repr, allowed))}"

    def read_choice(name: str, value: object) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise ArgumentError.of(name, value, expected)
        return value

    return read_choice


def _number(expected: str, most: float = sys.float_info.max) -> Reader:
    """Return a reader that accepts a finite number above 0, up to ``most``."""

    def read_number(name: str, value: object) -> float:
        number = _as(Real, value)
        try:
            found = math.nan if number is None else float(number)
        except OverflowError:
            found = math.inf
        if not 0 < found <= most:
            raise ArgumentError.of(name, value, expected)
        return found

    return read_number


def _count(expected: str, most: int = _MOST) -> Reader:
    """Return a reader that accepts a whole number above 0, up to ``most``."""

    def read_count(name: str, value: object) -> int:
        number = _as(Integral, value)
        if number is None or not 1 <= number <= most:
            raise ArgumentError.of(name, value, expected)
        return int(number)

    return read_count


def _as(kind: type, value: object) -> Any:
    """Return a value if it is a Python or NumPy number of this kind, else None.

    True and False are not numbers here.
    """
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _path(expected: str) -> Reader:
    """Return a reader that accepts a path as text or as a path object, and converts it to text."""

    def read_path(name: str, value: object) -> str:
        try:
            text = os.fspath(value) if isinstance(value, str | os.PathLike) else value
        except TypeError:  # __fspath__ returns neither text nor bytes
            text = None
        if not isinstance(text, str):
            raise ArgumentError.of(name, value, expected)
        if not text or "\0" in text or not _encodable(text):
            raise ArgumentError.of(name, text, f"{expected}; the given text is not a valid file name")
        return text

    return read_path


def _encodable(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _several(one: Reader, expected: str) -> Reader:
    """Return a reader that accepts one value or several values.  The reader ``one`` checks each value."""

    def read_several(name: str, value: object) -> tuple[Any, ...]:
        if isinstance(value, str | os.PathLike):
            return (one(name, value),)
        if isinstance(value, bytes | bytearray | Mapping | io.IOBase) or not can_iterate(value):
            raise ArgumentError.of(name, value, expected)
        return tuple(one(f"{name}[{index}]", each) for index, each in enumerate(value))

    return read_several


def _texts(expected: str) -> Reader:
    return _several(_text(expected), expected)


def _plugins(name: str, value: object) -> tuple[str, ...]:
    """Return the plugin names in the value: a text with commas, such as ``"a,b"``, or several texts."""
    listed = _texts("names of plugins")(name, value)
    return tuple(word.strip() for text in listed for word in text.split(",") if word.strip())


def _rules(name: str, value: object) -> tuple[Any, ...]:
    from trtlint.engine.rule import Rule
    from trtlint.engine.rulebook import RuleEntry

    return _instances(name, value, (Rule, RuleEntry), "rules that trtlint.load_rules returned")


def _instances(name: str, value: Any, kinds: tuple[type, ...], expected: str) -> tuple[Any, ...]:
    """Return the objects in an argument.  Each object must have one of the types in ``kinds``."""
    if isinstance(value, str | os.PathLike) or not can_iterate(value):
        raise ArgumentError.of(name, value, expected)
    found = tuple(value)
    for index, each in enumerate(found):
        if not isinstance(each, kinds):
            raise ArgumentError.of(f"{name}[{index}]", each, expected)
    return found


def _command(name: str, value: object) -> str:
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else value
    if not isinstance(text, str):
        raise ArgumentError.of(name, value, "a trtexec command, or a path")
    return text


def _record(name: str, value: object) -> object:
    from trtlint.buildfiles.record import BuildRecord

    if not isinstance(value, BuildRecord):
        raise ArgumentError.of(name, value, "a build that trtlint.read_build returned")
    return value


def _evidence(kind: EvidenceFile) -> Reader:
    """Return a reader that accepts a path, or the data of this kind of evidence."""
    path = _path(kind.expected)

    def read_evidence(name: str, value: object) -> object:
        return value if kind.load().is_data(value) else path(name, value)

    return read_evidence


def _dry_build(name: str, value: object) -> bool | str:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and (value in ("parse", "build") or RELEASE.fullmatch(value)):
        return value
    allowed = "True, False, 'parse', 'build', or a release of TensorRT-RTX such as '1.7.1'"
    raise ArgumentError.of(name, value, allowed)


def _compare(name: str, value: object) -> tuple[str, ...]:
    """Convert the argument ``compare`` to values of the option ``--compare``.

    An empty text stands for generated inputs.
    """
    if isinstance(value, bool):
        return ("",) if value else ()
    return tuple(_several(_path(_COMPARE), _COMPARE)(name, value))


def _options(name: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ArgumentError.of(name, value, "options by name, such as {'trt_min_subgraph_size': 5}")
    return value


def _shapes(name: str, value: object) -> tuple[tuple[str, Shape], ...]:
    if isinstance(value, Mapping):
        return tuple((_text(_SHAPES)(name, key), _sizes(f"{name}[{key!r}]", value[key])) for key in value)
    found: list[tuple[str, Shape]] = []
    for text in _texts(_SHAPES)(name, value):
        for input_, shape in read_shapes(text) or [("", None)]:
            if shape is None or not input_:
                raise ArgumentError.of(name, text, _SHAPES)
            found.append((input_, shape))
    return tuple(found)


def _sizes(name: str, value: object) -> Shape:
    expected = "sizes such as (1, 3, 224, 224)"
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ArgumentError.of(name, value, expected)
    for each in value:
        size = _as(Integral, each)
        if size is None or not 0 <= size <= _MOST:
            raise ArgumentError.of(name, each, expected)
    return tuple(map(int, value))


def _target(name: str, value: object) -> tuple[Target, ...]:
    expected = "a trtlint.Target, or several"
    if isinstance(value, Target):
        return (value,)
    targets = _instances(name, value, (Target,), expected)
    if not targets:
        raise ArgumentError(f"{name} is empty: expected {expected}")
    return targets


def _stream(name: str, value: object) -> object:
    binary = isinstance(value, io.RawIOBase | io.BufferedIOBase)
    if binary or getattr(value, "closed", False) or not callable(getattr(value, "write", None)):
        raise ArgumentError.of(name, value, "a file opened in text mode for writing")
    return value


def _build_files(name: str, value: object) -> tuple[tuple[str, GivenAs], ...]:
    """Return the build files in an argument, each with its kind."""
    kinds: dict[str, GivenAs] = {"any": "any", **{kind: kind for kind in FILE_KINDS}}
    expected = f"a path, or a path with one of {', '.join(map(repr, kinds))}"
    path = _path(expected)
    if isinstance(value, str | os.PathLike):
        value = (value,)
    if isinstance(value, bytes | bytearray | Mapping) or not can_iterate(value):
        raise ArgumentError.of(name, value, "paths")
    found: list[tuple[str, GivenAs]] = []
    for index, each in enumerate(value):
        place = f"{name}[{index}]"
        file, kind = each if isinstance(each, tuple) and len(each) == 2 else (each, "any")
        if not isinstance(kind, str) or kind not in kinds:
            raise ArgumentError.of(place, kind, expected)
        found.append((path(place, file), kinds[kind]))
    return tuple(found)


_VERSIONS = _texts("a version such as '10.7', or several")
_SELECTORS = _texts("ids, id prefixes, names or groups of rules")
_SECONDS = _number(f"seconds above 0, at most {MOST_SECONDS}", MOST_SECONDS)
_MEMORY = _count("a number of bytes above 0", _MOST_MEMORY)
_PATHS = _several(_path(_FILE), "a path, or several")

_SWITCHES = (
    "dry_parse", "dry_run", "isolated", "measure", "preview", "rehearse", "thorough", "trust_pickle",
    "unsafe", "verify", "verify_build", "weights", "hide_names",
)  # fmt: skip

ARGUMENTS: Mapping[str, Reader] = {
    **{name.replace("-", "_"): _switch for name in (*get_args(Flag), *_SWITCHES)},
    **{name: _path("a path of a folder") for name in ("dry_build_logs", "rtx_path", "torch_wheel")},
    **{name: _path(_FILE) for name in (*FILE_KINDS, "baseline", "out", "torch_python")},
    "batches": _count("a whole number above 0"),
    **dict.fromkeys(("bound", "tolerance"), _number("a finite number above 0")),
    "command": _command,
    "compare": _compare,
    "data_loader_script": _text("a text such as 'loader.py:load_data'"),
    "dry_build": _dry_build,
    **dict.fromkeys(("dry_build_memory", "memory"), _MEMORY),
    **dict.fromkeys(("dry_build_seconds", "seconds"), _SECONDS),
    "ep": _choice(*PROVIDERS),
    "ep_options": _options,
    "extend_select": _SELECTORS,
    "fail_on": _choice(*get_args(FailOn)),
    "file": _stream,
    "first": _text("a version such as '8.6'"),
    "gpu": _text("a text such as 'L4', 'sm89' or 'sm75,sm89'"),
    "ignore": _SELECTORS,
    "inputs": batch_reader(_path(BATCH)),
    "io": _choice("fp32", "fp16", "bf16"),
    "keep": _texts("names of operators, or patterns such as '*norm*'"),
    "last": _text("a version such as '10.7'"),
    "load_inputs": _PATHS,
    "min_confidence": _choice(*CONFIDENCES),
    "options": _options,
    "path": _several(_path(_FILE), "a path, paths, an onnx.ModelProto, or the result of torch.onnx.export"),
    "paths": _build_files,
    "plugins": _plugins,
    "product": _choice(*PRODUCTS),
    **{kind.name: _evidence(kind) for kind in EVIDENCE_FILES},
    "record": _record,
    **dict.fromkeys(("expires", "format", "module", "node", "reason", "rule"), _text("a text")),
    "rtx": _VERSIONS,
    "rules": _rules,
    "select": _SELECTORS,
    "shapes": _shapes,
    "target": _target,
    "to": _choice("fp16", "bf16"),
    "torch_tensorrt": _text("a release such as '2.13'"),
    "trt": _VERSIONS,
    "type": _choice("fp16", "bf16", "tf32", "all"),
}
"""The readers of all arguments, by name.  Models in memory are read by :mod:`trtlint.model.memory`."""
