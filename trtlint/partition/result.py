"""Represent the partition of a model as plain data: the parts that TensorRT runs, and the remaining nodes."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, to_builtins

from trtlint.knowledge.providers import Provider

Basis = Literal["predicted", "parser"]
"""How trtlint knows which nodes TensorRT accepts: from trtlint's own findings, or from NVIDIA's parser."""


class ProviderSettings(Struct, frozen=True):
    """The provider options that affect a partition.

    Both providers have these defaults:
    https://github.com/microsoft/onnxruntime/blob/5189d6158ec2/onnxruntime/core/providers/tensorrt/tensorrt_execution_provider.h

    Attributes:
        min_nodes: smallest number of nodes in a part.
        max_rounds: largest depth of nested parser calls before the provider gives up.
        exclude: operator types that the provider does not run.
        profile: whether the options set the shapes of an optimization profile.
    """

    min_nodes: int = 1
    max_rounds: int = 1000
    exclude: frozenset[str] = frozenset()
    profile: bool = False


class RemainingNode(Struct, frozen=True):
    """A node that TensorRT does not run.

    Attributes:
        node: path of the node.
        op: operator type.
        why: reason in words; empty if unknown.
        rules: the ids of the rules whose findings say that TensorRT refuses the node.
    """

    node: str
    op: str
    why: str = ""
    rules: tuple[str, ...] = ()


class Split(Struct, frozen=True):
    """Nodes of one operator type that divide a model.

    Attributes:
        op: operator type.
        nodes: paths of the nodes.
        rules: the ids of the rules with findings about these nodes.
        why: reason in words; empty if unknown.
        fixes: rewrites of ``trtlint fix`` after which TensorRT accepts these nodes.
        parts: number of parts that the model would have if TensorRT accepted all of these nodes; None if not
            counted.
        left: number of nodes outside of parts that the model would have if TensorRT accepted all of these
            nodes; None if not counted.
        bytes: bytes of the tensors that flow between these nodes and parts.  Tensors of dynamic size are not
            counted.
    """

    op: str
    nodes: tuple[str, ...]
    rules: tuple[str, ...] = ()
    why: str = ""
    fixes: tuple[str, ...] = ()
    parts: int | None = None
    left: int | None = None
    bytes: int = 0


class Border(Struct, frozen=True):
    """A tensor that flows between a part and a node outside of the part.

    Attributes:
        value: name of the tensor.
        bytes: size in bytes; None if a dimension is dynamic.
    """

    value: str
    bytes: int | None


class Partition(Struct, frozen=True):
    """The parts of one model that TensorRT runs, and the remaining nodes.

    Attributes:
        provider: the execution provider that divides the model.
        basis: how trtlint knows which nodes TensorRT accepts: ``predicted`` (from trtlint's own findings) or
            ``parser`` (from NVIDIA's parser).
        parts: paths of the nodes of each part.
        left: the nodes outside of all parts, in graph order.
        folded: paths of nodes that ONNX Runtime computes before it divides the model.
        borders: tensors between parts and other nodes.
        splits: groups of nodes that divide the model.  The groups that cause most data transfer come first.
        joined: whether the provider joins several regions into one part.
        dropped: nodes that the parser accepts but the provider does not run with TensorRT, each with the
            reason.
        failure: the reason why ONNX Runtime cannot create the session; empty if it can.
        calls: number of parser calls; 0 for a prediction.
    """

    provider: Provider
    basis: Basis
    parts: tuple[tuple[str, ...], ...]
    left: tuple[RemainingNode, ...]
    folded: tuple[str, ...] = ()
    borders: tuple[Border, ...] = ()
    splits: tuple[Split, ...] = ()
    joined: bool = False
    dropped: tuple[str, ...] = ()
    failure: str = ""
    calls: int = 0

    @property
    def taken(self) -> int:
        """Number of nodes that TensorRT runs."""
        return sum(map(len, self.parts))

    @property
    def total(self) -> int:
        """Number of all nodes, inside or outside of parts.

        Nodes that ONNX Runtime computes before it divides the model are not counted.
        """
        return self.taken + len(self.left)

    @property
    def document(self) -> dict[str, Any]:
        """The partition as JSON data."""
        known = [border.bytes for border in self.borders if border.bytes is not None]
        return {
            "provider": self.provider,
            "basis": self.basis,
            "parts": [list(part) for part in self.parts],
            "left": [each.node for each in self.left],
            "splits": to_builtins(self.splits),
            "nodes": self.total,
            "taken": self.taken,
            "folded": len(self.folded),
            "joined": self.joined,
            "dropped": list(self.dropped),
            "failure": self.failure,
            "borders": {
                "tensors": len(self.borders),
                "bytes": sum(known),
                "unknown": len(self.borders) - len(known),
            },
        }
