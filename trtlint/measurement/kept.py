"""List the nodes to keep in FP32, so that the rest passes in a narrow type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, convert

_FEW = 12
"""Number of nodes that can be kept in FP32 in any model."""
_UNCOUNTED = 1 << 30
"""Number of nodes if a file does not contain it."""
_SHARE = 1 / 3
"""Largest share of the nodes, and of the products, to keep in FP32.  With more of them, little of the speed
of the narrow type is left, and each Cast between the types costs time."""


class KeptNodes(Struct, frozen=True):
    """The least set of nodes found that must stay in FP32.

    Attributes:
        nodes: their paths, in the order of the graph.
        error: the largest error of the outputs with these nodes in FP32, in the worst way of the band; None
            if an output is not finite.
        runs: number of rehearsals of the search.
        verified: whether the error with these nodes in FP32 is under the bound in each way of the band.
        computing: number of nodes of the main graph that compute in the narrow type.
        products: number of matrix products and convolutions among these.
        kept_products: number of products among ``nodes``.
        margin: the nodes that are kept only for margin.  Without any single one of them, the error stays
            under the bound.
        complete: whether the search ended before its limits.  Otherwise, a smaller set may be enough.
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
        """True if the narrow type fits the model: few nodes, or a small share of all, are kept."""
        if len(self.nodes) <= _FEW:
            return True
        return (
            max(len(self.nodes) / (self.computing or 1), self.kept_products / (self.products or 1)) <= _SHARE
        )

    @property
    def document(self) -> dict[str, Any]:
        """The set as JSON data, without the paths of all nodes."""
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
        """Read the set from JSON data.  None for None.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: the data are of another form.
        """
        if data is None:
            return None
        counts, products = data.get("nodes", {}), data.get("products", {})
        found = {
            "nodes": nodes,
            "error": data["error_fp16"],
            "runs": data["runs"],
            "verified": data["verified"],
            # Files of earlier releases lack the following.
            "computing": counts.get("all") or _UNCOUNTED,
            "products": products.get("all", 0),
            "kept_products": products.get("kept", 0),
            "margin": data.get("margin", ()),
            "complete": data.get("complete", True),
        }
        return convert(found, cls)
