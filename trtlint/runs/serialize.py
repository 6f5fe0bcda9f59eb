"""Frozen dataclasses as JSON data and back: lists of their fields, in order.

The annotations of the classes alone decide which types are read back, so that data from a file
cannot create anything else.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

_T = TypeVar("_T")
_Codec = tuple[Callable[[Any], Any], Callable[[Any], Any]]
_SCALARS: tuple[type, ...] = (str, int, float, bool)


def dump(value: object, hint: Any) -> Any:
    """Convert a value of an annotated type to JSON data."""
    return _codec(hint)[0](value)


def load(data: Any, hint: type[_T]) -> _T:
    """Convert JSON data from :func:`dump` to a value of an annotated type.

    Raises:
        ValueError: the data are not of that type.
    """
    codec: _Codec = _codec(hint)  # type: ignore[arg-type]  # a class can be hashed
    loaded: _T = codec[1](data)
    return loaded


@cache
def _codec(hint: Any) -> _Codec:
    """Return the writer and the reader for values of a type."""
    if is_dataclass(hint):
        return _dataclass(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return _tuple(*_codec(arguments[0]))
    if origin is Literal:
        return _same, _checked(lambda data: data in arguments and isinstance(data, str))
    if origin in (Union, types.UnionType) and len(arguments) == 2 and arguments[1] is type(None):
        return _optional(*_codec(arguments[0]))
    if hint in _SCALARS:
        return _same, _checked(lambda data: type(data) is hint)
    raise TypeError(f"{hint} is not plain data")


def _same(value: Any) -> Any:
    return value


def _checked(fits: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def read(data: Any) -> Any:
        if not fits(data):
            raise ValueError(f"unexpected {data!r:.80}")
        return data

    return read


def _optional(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> _Codec:
    return (
        lambda value: None if value is None else write(value),
        lambda data: None if data is None else read(data),
    )


def _tuple(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> _Codec:
    def items(data: Any) -> tuple[Any, ...]:
        if type(data) is not list:
            raise ValueError(f"unexpected {data!r:.80}")
        return tuple([read(item) for item in data])

    return lambda value: [write(item) for item in value], items


def _dataclass(class_: Any) -> _Codec:
    hints = get_type_hints(class_)
    # Fields that reports fill in last have their default in every cached result.
    stored = [field.name for field in fields(class_) if field.metadata.get("stored", True)]
    codecs = [(name, *_codec(hints[name])) for name in stored]
    writers = [(name, write) for name, write, _ in codecs]
    readers = [read for _, _, read in codecs]

    def make(data: Any) -> Any:
        if type(data) is not list or len(data) != len(readers):
            raise ValueError(f"unexpected {data!r:.80}")
        values = [read(item) for read, item in zip(readers, data, strict=True)]
        return class_(**dict(zip(stored, values, strict=True)))

    return lambda value: [write(getattr(value, name)) for name, write in writers], make
