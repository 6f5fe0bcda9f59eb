"""Random changes of protobuf messages and JSON data, whatever their meaning."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import Message

INTEGERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    15,
    16,
    64,
    127,
    255,
    65536,
    2**31 - 1,
    2**31,
    2**32,
    2**53,
    2**63 - 1,
    -(2**63),
)
FLOATS = (0.0, -0.0, 1.0, -1.5, 65504.0, 1e-8, 3.4e38, float("inf"), float("-inf"), float("nan"))
TEXTS = (
    *("", "x", "a/b", "..", "/", "\0", "\n", "é", "\U0001f600", "%s{}", "unk__0", "N", "[1,2]", "::error::"),
    *("MatMul", "Conv", "If", "Loop", "Scan", "Constant", "Reshape", "Concat", "Nonsense", "Attention"),
    *("axis", "axes", "value", "to", "perm", "shape", "group", "ai.onnx", "com.microsoft", "epsilon"),
)
_MOST_COPIES = 200
_DEEPEST = 12
"""Maximum nesting depth at which messages and lists are searched."""


def _is_list(field: Any) -> bool:
    repeated = getattr(field, "is_repeated", None)
    return bool(field.label == Field.LABEL_REPEATED if repeated is None else repeated)


def messages(message: Message, depth: int = 0) -> Iterator[Message]:
    """Yield a message and all nested messages."""
    yield message
    if depth > _DEEPEST:
        return
    for field, value in message.ListFields():
        if field.type == Field.TYPE_MESSAGE:
            for inner in value if _is_list(field) else (value,):
                yield from messages(inner, depth + 1)


def change_message(root: Message, chance: random.Random) -> None:
    """Change one field of a message or of one of its nested messages."""
    found = list(messages(root))
    message = chance.choice(found)
    field: Any = chance.choice(message.DESCRIPTOR.fields)
    if field.type == Field.TYPE_MESSAGE:
        _change_part(message, field, found, chance)
    elif _is_list(field):
        _change_list(getattr(message, field.name), field, chance)
    elif chance.random() < 0.1:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, _scalar(field, found, chance))


def _change_part(message: Message, field: Any, found: list[Message], chance: random.Random) -> None:
    same = [other for other in found if other.DESCRIPTOR is field.message_type]
    # A copy, since a message cannot be put into itself.
    copy = None
    if same:
        copy = type(picked := chance.choice(same))()
        copy.CopyFrom(picked)
    if not _is_list(field):
        if copy is None or chance.random() < 0.2:
            message.ClearField(field.name)
        else:
            getattr(message, field.name).CopyFrom(copy)
        return
    parts = getattr(message, field.name)
    action = chance.randrange(4)
    if action == 0 and len(parts):
        del parts[chance.randrange(len(parts))]
    elif action == 1 and len(parts) > 1:
        first, second = chance.randrange(len(parts)), chance.randrange(len(parts))
        kept = [type(part).FromString(part.SerializePartialToString()) for part in parts]
        kept[first], kept[second] = kept[second], kept[first]
        del parts[:]
        parts.extend(kept)
    elif copy is None:
        parts.add()
    else:
        parts.extend([copy] * (1 if action == 2 else chance.randint(1, _MOST_COPIES)))


def _change_list(values: Any, field: Any, chance: random.Random) -> None:
    action = chance.randrange(4)
    if action == 0 and len(values):
        del values[chance.randrange(len(values))]
    elif action == 1 and len(values):
        values[chance.randrange(len(values))] = _scalar(field, [], chance)
    else:
        values.extend([_scalar(field, [], chance)] * (1 if action == 2 else chance.randint(1, _MOST_COPIES)))


def _scalar(field: Any, found: list[Message], chance: random.Random) -> Any:
    kind = field.cpp_type
    if kind in (Field.CPPTYPE_FLOAT, Field.CPPTYPE_DOUBLE):
        return chance.choice(FLOATS)
    if kind == Field.CPPTYPE_ENUM:
        return chance.choice(field.enum_type.values).number
    if kind == Field.CPPTYPE_BOOL:
        return chance.random() < 0.5
    if kind == Field.CPPTYPE_STRING:
        taken = [value for other in found for inner, value in other.ListFields() if inner.name == field.name]
        texts = [value for value in taken if isinstance(value, str | bytes)]
        text = chance.choice(texts) if texts and chance.random() < 0.6 else chance.choice(TEXTS)
        if chance.random() < 0.05:
            text *= chance.choice((10, 1_000, 20_000)) if len(text) < 50 else 2
        if field.type == Field.TYPE_BYTES:
            return text if isinstance(text, bytes) else text.encode()
        return text if isinstance(text, str) else text.decode("utf-8", "replace")
    number = chance.choice(INTEGERS)
    if kind in (Field.CPPTYPE_INT32, Field.CPPTYPE_UINT32):
        number = max(-(2**31), min(number, 2**31 - 1))
    return abs(number) if kind in (Field.CPPTYPE_UINT32, Field.CPPTYPE_UINT64) else number


def change_json(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """Return JSON data with one changed value."""
    if isinstance(value, dict) and value and depth < _DEEPEST and chance.random() < 0.9:
        key = chance.choice(list(value))
        changed = dict(value)
        action = chance.randrange(12)
        if action == 0:
            del changed[key]
        elif action == 1:
            changed[chance.choice((*value, *TEXTS))] = changed.pop(key)
        else:
            changed[key] = change_json(value[key], chance, depth + 1)
        return changed
    if isinstance(value, list) and value and depth < _DEEPEST and chance.random() < 0.9:
        index, items = chance.randrange(len(value)), list(value)
        action = chance.randrange(12)
        if action == 0:
            del items[index]
        elif action == 1:
            items[index:index] = [items[index]] * chance.randint(1, _MOST_COPIES)
        else:
            items[index] = change_json(value[index], chance, depth + 1)
        return items
    return _json(chance)


def _json(chance: random.Random) -> Any:
    nested: Any = chance.choice(INTEGERS)
    for _ in range(chance.choice((1, 3, 50))):
        nested = [nested] if chance.random() < 0.5 else {chance.choice(TEXTS): nested}
    text = chance.choice(TEXTS) * chance.choice((1, 1, 1, 1_000))
    return chance.choice(
        (None, True, chance.choice(INTEGERS), chance.choice(FLOATS), 10**300, text, [], {}, nested)
    )
