"""Read options for single layers, such as ``--layerPrecisions=conv1:fp32,head*:fp16``.

A name may contain one ``*`` for any characters. Quotes around a name are ignored.
https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleOptions.cpp
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from msgspec import Struct

from trtlint.buildcommand.command import BuildCommand, matches

LayerOption = Literal["--layerPrecisions", "--layerOutputTypes", "--layerDeviceTypes"]
OPTIONS: tuple[LayerOption, ...] = get_args(LayerOption)
"""Options that set a type or device for the layers that they name."""


class LayerSpec(Struct, frozen=True):
    """One setting for the layers that match a name, such as ``head*:fp32``.

    Attributes:
        option: the option, such as ``--layerPrecisions``.
        name: the name of the layers, possibly with a ``*``.
        value: the setting, such as ``fp32``, ``fp16+fp16`` (for two outputs) or ``DLA``; empty if there is
            none.
    """

    option: LayerOption
    name: str
    value: str

    def means(self, name: str) -> bool:
        """Return whether the setting applies to the layer ``name``."""
        return matches(name, self.name)


def layer_specs(command: BuildCommand) -> Iterator[LayerSpec]:
    """Yield the settings for single layers, in order.

    If an option is repeated, only its last value counts.
    """
    for name in OPTIONS:
        option = command.option(name)
        if option is None or option.value is None:
            continue
        for part in option.value.split(","):
            layer, colon, value = part.strip().rpartition(":")
            if layer or value:
                layer, value = (layer, value) if colon else (value, "")
                yield LayerSpec(name, layer.strip().strip("'\""), value.strip())
