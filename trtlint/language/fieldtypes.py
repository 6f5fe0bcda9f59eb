"""Derive the types of names and fields in expressions from the annotations of facts.

The rule language has few types: truth values, numbers, text, tuples, mappings, and records with named fields.
None means unknown.  It is not a type, because every name may be unknown.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from trtlint.model.graph import Node, Value

KindName = Literal["truth", "number", "text", "tuple", "mapping", "record", "anything"]


class Kind(Struct, frozen=True):
    """A type of the rule language.

    Attributes:
        name: the name of the type, such as ``number``.
        choices: the possible values; None if any value is possible.
        cls: the Python class of a record.
        items: the types of a tuple's elements or a mapping's values.
        keys: the types of a mapping's keys.
    """

    name: KindName
    choices: frozenset[bool | int | float | str] | None = None
    cls: type | None = None
    items: tuple[Kind, ...] = ()
    keys: tuple[Kind, ...] = ()

    def __str__(self) -> str:
        if self.cls is not None:
            return f"a {self.cls.__name__}"
        return {"truth": "true or false", "anything": "of no declared type"}.get(self.name, f"a {self.name}")


class OneOf(Struct, frozen=True):
    """Annotation for the texts that a field can hold: ``Annotated[str, OneOf(names)]``.

    Attributes:
        words: function that returns the texts.  It is called only when an expression is checked.
    """

    words: Callable[[], Iterable[str]]


Kinds = tuple[Kind, ...]
"""The possible types of a name; empty for a name that is always None."""

TRUTH: Kinds = (Kind("truth"),)
NUMBER: Kinds = (Kind("number"),)
TEXT: Kinds = (Kind("text"),)
ANYTHING: Kinds = (Kind("anything"),)

_BASE: Mapping[Any, Kinds] = {
    bool: TRUTH,
    int: NUMBER,
    float: NUMBER,
    str: TEXT,
    type(None): (),
    None: (),
    Any: ANYTHING,
    object: ANYTHING,
}

# The classes of the graph set these attributes in __init__, where annotations are not accessible.
_ATTRIBUTES: Mapping[type, Mapping[str, Kinds]] = {
    Value: {
        "name": TEXT,
        "is_input": TRUTH,
        "is_output": TRUTH,
        "leaves_body": TRUTH,
        "producer": (Kind("record", cls=Node),),
    },
    Node: {"path": TEXT, "op": TEXT, "domain": TEXT, "scope": TEXT},
}


def kinds_of(annotation: Any) -> Kinds:
    """Return the types of the rule language that a Python annotation allows, without None."""
    return tuple(dict.fromkeys(_kinds(annotation)))


def constant(value: bool | int | float | str) -> Kinds:
    """Return the type of a literal.  Its only possible value is the literal itself."""
    (kind,) = _BASE[type(value)]
    return (Kind(kind.name, frozenset({value})),)


def _kinds(annotation: Any) -> Iterator[Kind]:
    try:
        known = _BASE.get(annotation)
    except TypeError:  # an annotation that cannot be hashed
        known = ANYTHING
    origin, arguments = get_origin(annotation), get_args(annotation)
    if known is not None:
        yield from known
    elif origin in (Union, types.UnionType):
        for argument in arguments:
            yield from _kinds(argument)
    elif origin is Annotated and isinstance(arguments[1], OneOf):
        yield Kind("text", frozenset(arguments[1].words()))
    elif origin is Annotated and isinstance(arguments[1], tuple):
        yield from arguments[1]
    elif origin in (Annotated, ClassVar):
        yield from _kinds(arguments[0])
    elif origin is Literal:
        for kind in (*TRUTH, *TEXT, *NUMBER):
            choices = frozenset(a for a in arguments if _BASE.get(type(a)) == (kind,))
            if choices:
                yield Kind(kind.name, choices)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield Kind("mapping", items=kinds_of(arguments[-1]), keys=kinds_of(arguments[0]))
    elif isinstance(origin, type) and issubclass(origin, Collection | Iterable):
        items = (kind for argument in arguments if argument is not Ellipsis for kind in _kinds(argument))
        yield Kind("tuple", items=tuple(dict.fromkeys(items)))
    elif isinstance(annotation, type):
        has_members = issubclass(annotation, Struct) or annotation in _ATTRIBUTES
        yield from (Kind("record", cls=annotation),) if has_members else ANYTHING
    else:
        yield from ANYTHING


@cache
def members(cls: type) -> Mapping[str, Kinds]:
    """Return the type of each field and property of a class.

    Expressions may read these fields and properties.

    Raises:
        TypeError: an annotation of the class cannot be resolved.
    """
    found: dict[str, Kinds] = dict(_ATTRIBUTES.get(cls, {}))
    if issubclass(cls, Struct):
        try:
            hints = get_type_hints(cls, include_extras=True)
        except NameError as error:
            raise TypeError(f"an annotation of {cls.__qualname__} cannot be resolved: {error}") from error
        found |= {name: kinds_of(hints[name]) for name in cls.__struct_fields__}
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if isinstance(member, property) and member.fget is not None:
            try:
                hints = get_type_hints(member.fget, include_extras=True)
            except NameError:  # not for expressions: only type checkers import its types
                continue
            found[name] = kinds_of(hints.get("return", Any))
    return {name: kinds for name, kinds in found.items() if not name.startswith("_")}


def has(kinds: Kinds, name: KindName) -> bool:
    """Return whether one of the types has the given name, such as ``number``."""
    return any(kind.name in (name, "anything") for kind in kinds)


def items_fit(kind: Kind, want: Kind) -> bool:
    """Return whether two tuple types have an element type in common.

    The result is also True if ``want`` allows all element types.
    """
    return not want.items or any(has(kind.items, item.name) for item in want.items)


def choices(kinds: Kinds, name: str) -> frozenset[Any] | None:
    """Return the allowed values of the types in ``kinds`` whose name is ``name``.

    For example, ``kinds`` are the types of a field, and ``name`` is ``text``.  The result is then the set of
    all texts that the field can hold.  It is None if any value is allowed.
    """
    found: set[Any] = set()
    for kind in kinds:
        if kind.name == name:
            if kind.choices is None:
                return None
            found |= kind.choices
    return frozenset(found)


def words(kinds: Kinds) -> str:
    """Return the names of types for an error message."""
    return " or ".join(dict.fromkeys(map(str, kinds)))
