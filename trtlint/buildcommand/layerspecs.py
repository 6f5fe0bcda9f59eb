"""What a command line asks of single layers: ``--layerPrecisions=conv1:fp32,head*:fp16`` and its like.

A name may hold one ``*`` that stands for any characters; quotes around it count for nothing.
https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleOptions.cpp
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Literal, get_args

from trtlint.buildcommand.command import BuildCommand
from trtlint.lean import dataclass

LayerOption = Literal["--layerPrecisions", "--layerOutputTypes", "--layerDeviceTypes"]
OPTIONS: tuple[LayerOption, ...] = get_args(LayerOption)
"""The options that name layers."""

_MOST = 10_000
"""Layers that one option names at most."""


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """What is asked of the layers of one name.

    Attributes:
        option: the option, ``--layerPrecisions``.
        name: the layers, perhaps with a ``*``.
        value: what is asked: ``fp32``, ``fp16+fp16`` for two outputs, ``DLA``; empty where nothing is.
    """

    option: LayerOption
    name: str
    value: str

    def means(self, name: str) -> bool:
        """Whether it is about a layer of this name."""
        return fnmatchcase(name, self.name.replace("[", "[[]").replace("?", "[?]"))


def layer_specs(command: BuildCommand) -> Iterator[LayerSpec]:
    """What a command asks of single layers, in its order; of an option given twice, the last one counts."""
    for name in OPTIONS:
        option = command.option(name)
        if option is None or option.value is None:
            continue
        for part in option.value.split(",", _MOST)[:_MOST]:
            layer, colon, value = part.strip().rpartition(":")
            if layer or value:
                layer, value = (layer, value) if colon else (value, "")
                yield LayerSpec(name, layer.strip().strip("'\""), value.strip())
