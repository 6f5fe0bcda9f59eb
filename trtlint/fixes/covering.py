"""Nodes to keep in FP32 that a rewrite of a finding converts as well.

A finding about a norm covers more nodes than a measurement of it.  Its rewrite removes the finding, and FP32
types around a part of the norm do not: before TensorRT 11, ``--fp16`` lets the builder run FP32 layers in
FP16.
https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/inference-library/precision-control.html
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from trtlint.fixes.keep_fp32 import adjacent, obstacle
from trtlint.fixes.patch import Patch
from trtlint.model.graph import Node
from trtlint.model.load import Model

REWRITES = frozenset({"widen-norm", "widen-chain", "widen-node", "fuse-norm"})
"""Rewrites whose result computes in FP32: TensorRT does so in LayerNormalization and RMSNormalization."""


class KeptGroups(Struct, frozen=True):
    """Nodes to keep in FP32, by the values that they compute.

    A rewrite of another node can rename a node, but not its output.

    Attributes:
        paths: the requested paths.
        nodes: the nodes of the model at these paths.
        groups: those that can change, in groups that share a tensor.
    """

    paths: tuple[str, ...]
    nodes: tuple[Node, ...]
    groups: tuple[frozenset[Node], ...]

    def covered(self, patch: Patch) -> bool:
        """Return whether a patch converts a group, and no mere part of another one.

        A Cast to FP16 between a kept node and the patch would overflow.
        """
        inside = frozenset((*patch.remove, *patch.around))
        met = [group for group in self.groups if group & inside]
        return bool(met) and all(group <= inside for group in met)

    def left(self, after: Model) -> list[str]:
        """Return the paths of the nodes to keep that a rewritten model still has, and of unknown ones."""
        known = {(node.scope, _first(node), node.op): node.path for node in after.graph.nodes}
        of = {node.path: (node.scope, _first(node), node.op) for node in self.nodes}
        kept = (known.get(of[path]) if path in of else path for path in self.paths)
        return list(dict.fromkeys(path for path in kept if path is not None))


def kept_groups(model: Model, paths: Sequence[str]) -> KeptGroups:
    """Return the nodes of a model to keep in FP32."""
    wanted = frozenset(paths)
    nodes = tuple(node for node in model.graph.nodes if node.path in wanted)
    groups = adjacent([node for node in nodes if not obstacle(node, model)])
    return KeptGroups(tuple(paths), nodes, tuple(map(frozenset, groups)))


def _first(node: Node) -> str:
    return next((value.name for value in node.outputs if value.name), node.path)
