"""Result of the search for nodes to keep in FP32."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, convert

_FEW = 12
"""Largest number of FP32 nodes that is acceptable in any model, however small."""
_UNCOUNTED = 1 << 30
"""Default for the number of nodes, if a measurement file does not contain this number."""
_SHARE = 1 / 3
"""Largest acceptable share of FP32 nodes among all nodes, and of FP32 products among all products.

With a larger share, the low-precision type saves little time, and each Cast between the types costs time.
"""


class KeptNodes(Struct, frozen=True):
    """The smallest set of nodes to keep in FP32 that the search found.

    Attributes:
        nodes: the paths of the nodes, in the order of the graph.
        error: the largest error of an output with the set in FP32, over all rounding schemes; None if not
            finite.
        runs: number of simulated runs of the search.
        verified: true if the error with the set in FP32 is within the limit for each rounding scheme.
        computing: number of main-graph nodes that compute in the low-precision type if no node is kept in
            FP32.
        products: number of matrix products and convolutions among the ``computing`` nodes.
        kept_products: number of products among ``nodes``.
        margin: the nodes that are kept only as a safety margin. If one of these nodes used the low-precision
            type, the error would still be within the limit.
        complete: true if the search finished before its limits of runs and time. Otherwise, a smaller set may
            be enough.
    """

    nodes: tuple[str, ...] = ()
    error: float | None = None
    runs: int = 0
    verified: bool = False
    computing: int = 0
    products: int = 0
    kept_products: int = 0
    margin: tuple[str, ...] = ()
    complete: bool = True

    @property
    def fits(self) -> bool:
        """Return whether few nodes, or a small share of the nodes, stay in FP32.

        If the result is False, the low-precision type does not suit the model.
        """
        if len(self.nodes) <= _FEW:
            return True
        return len(self.nodes) <= self.computing * _SHARE and self.kept_products <= self.products * _SHARE

    @property
    def document(self) -> dict[str, Any]:
        """Return the result as JSON data. The data contain the number of ``nodes``, but not their paths."""
        return {
            "error_fp16": self.error,
            "runs": self.runs,
            "verified": self.verified,
            "fits": self.fits,
            "nodes": {"kept": len(self.nodes), "all": self.computing},
            "products": {"kept": self.kept_products, "all": self.products},
            "margin": list(self.margin),
            "complete": self.complete,
        }

    @classmethod
    def parse(cls, nodes: Sequence[Any], data: Mapping[str, Any] | None) -> KeptNodes | None:
        """Read the result from JSON data.  Return None if ``data`` is None.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: the data have an unexpected form.
        """
        if data is None:
            return None
        counts, products = data.get("nodes", {}), data.get("products", {})
        found = {
            "nodes": nodes,
            "error": data["error_fp16"],
            "runs": data["runs"],
            "verified": data["verified"],
            # Files of older trtlint releases lack the following keys.
            "computing": counts.get("all") or _UNCOUNTED,
            "products": products.get("all", 0),
            "kept_products": products.get("kept", 0),
            "margin": data.get("margin", ()),
            "complete": data.get("complete", True),
        }
        return convert(found, cls)
