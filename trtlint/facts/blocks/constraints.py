"""Read the types that a trtexec command sets for single layers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal

AskedType = Literal["f32", "f16", "bf16", "i8", "i32"]

_OPTION = re.compile(r"""--layerPrecisions[= ](?P<quote>["']?)(?P<specs>.+?)(?P=quote)(?= --|$|["'])""")
_SPEC = re.compile(r"(?P<name>.+):(?P<type>fp32|fp16|bf16|int8|int32)$")
_SHORT: Mapping[str, AskedType] = {"fp32": "f32", "fp16": "f16", "bf16": "bf16", "int8": "i8", "int32": "i32"}

Asked = Callable[[Iterable[str]], AskedType | None]
"""A function that looks up layer names in a command.

The function returns the type for the first name for which the command sets a type, or None if there is no
such name.
"""


def layer_types(command: str | None) -> Asked:
    """Return a function that looks up the type of a layer in ``--layerPrecisions`` of a trtexec command.

    Later settings override earlier settings.  A layer name in the option can contain one ``*``.  The function
    ignores the name ``*`` alone, because it sets a default for all layers.
    https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleOptions.cpp
    """
    found = _OPTION.search(command or "")
    specs = (_SPEC.match(spec.strip(" \"'")) for spec in found["specs"].split(",")) if found else ()
    named = [(spec["name"].strip("\"'"), _SHORT[spec["type"]]) for spec in specs if spec]
    wanted = [(_pattern(name), kind) for name, kind in named if name != "*"]
    return partial(_asked, tuple(reversed(wanted)))


def _pattern(name: str) -> re.Pattern[str]:
    before, star, after = name.partition("*")
    return re.compile(re.escape(before) + (".*" if star else "") + re.escape(after), re.DOTALL)


def _asked(wanted: Sequence[tuple[re.Pattern[str], AskedType]], names: Iterable[str]) -> AskedType | None:
    if not wanted:
        return None
    for name in names:
        for pattern, kind in wanted:
            if pattern.fullmatch(name):
                return kind
    return None
