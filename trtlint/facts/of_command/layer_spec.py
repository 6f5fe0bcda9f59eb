"""Match the settings for single layers in a build command with the nodes of the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from trtlint.buildcommand.layerspecs import LayerOption, LayerSpec, layer_specs
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.model.protos import text

_MADE = ("ONNXTRT_", "(Unnamed Layer", "__")
"""Prefixes of the names of extra layers. The parser adds such layers without an ONNX node.

Source: https://github.com/onnx/onnx-tensorrt/blob/3b9c961a4318/ImporterContext.hpp
"""
_MOST_PATTERNS = 100
"""Largest number of layer names with a ``*`` that trtlint compares with the names of the nodes."""


class LayerSpecFact(Fact, frozen=True):
    """A type or device that the build command sets for some layers.

    The fact exists only if a command was given.

    Attributes:
        option: ``--layerPrecisions``, ``--layerOutputTypes`` or ``--layerDeviceTypes``.
        name: the layer name as written. A ``*`` in the name matches several layers.
        value: the type or device that the option sets, such as ``fp32``.
        made: whether the name belongs to an extra layer. The parser adds such layers; no ONNX node
            corresponds to them.
        nodes: number of model nodes whose names match. None if there is no model, or if trtlint cannot count
            the nodes, for example because a ``*`` may match a node without a name.
    """

    option: LayerOption
    name: str
    value: str
    made: bool
    nodes: int | None

    @property
    def place(self) -> str:
        """The location in reports: the option and the layer name."""
        return f"{self.option} {self.name}"


def find(facts: Facts) -> Iterator[LayerSpecFact]:
    """Yield a fact for each layer name in each option, in the order of the command."""
    if facts.command is None or not facts.command.builds:
        return
    names = _Names(facts) if facts.has_model else None
    for spec in layer_specs(facts.command):
        yield LayerSpecFact(
            option=spec.option,
            name=spec.name,
            value=spec.value,
            made=spec.name.startswith(_MADE),
            nodes=None if names is None else names.count(spec),
        )


class _Names:
    """Counter of the nodes that match a layer name in the command.

    trtlint counts nodes for at most ``_MOST_PATTERNS`` names with a ``*``. For each further name with a
    ``*``, the count is unknown.
    """

    def __init__(self, facts: Facts) -> None:
        nodes = facts.model.graph.nodes
        self._names = Counter(text(node.proto.name) for node in nodes if node.proto.name)
        self._nameless = {node.op for node in nodes if not node.proto.name}
        self._left = _MOST_PATTERNS

    def count(self, spec: LayerSpec) -> int | None:
        """Return the number of nodes that the name in ``spec`` matches, or None if it is unknown.

        The parser names the layer of an unnamed node by operator and number, such as ``Conv_12``.
        """
        if "*" not in spec.name:
            op, _, number = spec.name.rpartition("_")
            return self._names[spec.name] + (number.isdecimal() and op in self._nameless)
        if spec.name == "*":
            return self._names.total()
        self._left -= 1
        if self._left < 0 or self._nameless:
            return None
        return sum(times for name, times in self._names.items() if spec.means(name))
