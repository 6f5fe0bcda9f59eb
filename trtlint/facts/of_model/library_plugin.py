"""Find operators that TensorRT imports as plugins from its plugin library, libnvinfer_plugin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.facts.refusal import Refusal
from trtlint.knowledge.parsers import library_plugin, range_of
from trtlint.knowledge.releases import Product
from trtlint.model.graph import Node


class LibraryPlugin(Fact, frozen=True):
    """An operator that TensorRT imports as a plugin from libnvinfer_plugin.

    trtexec registers the plugins of this library.  Other programs must call ``initLibNvInferPlugins``.  The
    property :attr:`applies` contains the versions that import the operator as a plugin.

    Attributes:
        op: the operator type.
        plugin: the name of the plugin.
    """

    roles: ClassVar[Mapping[str, str]] = {"imported": "the operator that is a plugin"}

    op: str
    plugin: str
    versions: Mapping[Product, str]

    @property
    def applies(self) -> Mapping[Product, str]:
        """The versions that import the operator as a plugin, by product."""
        return self.versions

    @property
    def refusal(self) -> Refusal:
        """The error of the parser if the program did not register the plugin.

        https://github.com/onnx/onnx-tensorrt/blob/3b9c961a4318/onnxOpImporters.cpp
        """
        return Refusal("parse", self.op, "UNSUPPORTED_NODE")


def find(facts: Facts) -> Iterator[LibraryPlugin]:
    """Yield, in graph order, the operators that TensorRT imports as plugins."""
    for node in facts.imported:
        plugin, lines = library_plugin(node.op)
        versions = range_of("tensorrt", lines) if plugin else None
        if versions is not None and _needs(node):
            yield LibraryPlugin(
                node=node,
                chain=(Step(node, "imported"),),
                op=node.op,
                plugin=plugin,
                versions={"tensorrt": versions},
            )


def _needs(node: Node) -> bool:
    """Return whether TensorRT imports a node as a plugin.

    A ScatterElements is imported as a plugin only if it has a reduction.
    """
    return node.op != "ScatterElements" or node.attributes.get("reduction", "none") != "none"
