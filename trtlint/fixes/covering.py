"""Find rewrites that convert requested nodes to FP32 together with the rest of their block.

A measurement may list only some nodes of a norm, but a finding about the norm covers all of its nodes. The
rewrite for the finding converts all nodes of the norm, and so removes the finding. Casts around the listed
nodes alone are not enough: before TensorRT 11, ``--fp16`` lets the builder run FP32 layers in FP16.
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
"""Rewrites that make operators compute in FP32. TensorRT computes the LayerNormalization of ``fuse-norm`` in
FP32.
"""


class KeptGroups(Struct, frozen=True):
    """Nodes that must run in FP32.

    A rewrite can rename nodes, but it keeps the names of their outputs. So the output names identify the
    nodes.

    Attributes:
        paths: the requested node paths, such as ``/model/norm/Sqrt``.
        nodes: the nodes of the model at these paths.
        groups: groups of the nodes that can run in FP32. Nodes that share a 16-bit tensor are in the same
            group.
    """

    paths: tuple[str, ...]
    nodes: tuple[Node, ...]
    groups: tuple[frozenset[Node], ...]

    def covered(self, patch: Patch) -> bool:
        """Return whether ``patch`` converts at least one whole group to FP32, and no group only in part.

        If a patch converted only a part of a group, a Cast to FP16 between two of its nodes could overflow.
        """
        inside = frozenset((*patch.remove, *patch.around))
        met = [group for group in self.groups if group & inside]
        return bool(met) and all(group <= inside for group in met)

    def left(self, after: Model) -> list[str]:
        """Return the paths that no rewrite has converted yet, and the paths that the model never had.

        ``after`` is the rewritten model.
        """
        known = {(node.scope, _first(node), node.op): node.path for node in after.graph.nodes}
        of = {node.path: (node.scope, _first(node), node.op) for node in self.nodes}
        kept = (known.get(of[path]) if path in of else path for path in self.paths)
        return list(dict.fromkeys(path for path in kept if path is not None))


def kept_groups(model: Model, paths: Sequence[str]) -> KeptGroups:
    """Find the nodes at ``paths``, and put nodes that share a 16-bit tensor into one group."""
    wanted = frozenset(paths)
    nodes = tuple(node for node in model.graph.nodes if node.path in wanted)
    groups = adjacent([node for node in nodes if not obstacle(node, model)])
    return KeptGroups(tuple(paths), nodes, tuple(map(frozenset, groups)))


def _first(node: Node) -> str:
    return next((value.name for value in node.outputs if value.name), node.path)
