"""Find known defects of TensorRT releases that affect the model.  Some defects occur only on some GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.knownbad import BadRelease, Grade, Hurts, causes
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.node import LATEST_OPSET, names_of
from trtlint.knowledge.releases import Product
from trtlint.model.graph import Node
from trtlint.model.protos import FLOAT_DTYPES, ElementType

_FEW = 3
"""Largest number of affected GPUs that a text lists. If more GPUs are affected, the text names none."""


class KnownBad(Fact, frozen=True):
    """A known defect of some releases that affects this model. There is one fact for all affected nodes.

    Attributes:
        hurts: the property that the defect harms: ``accuracy``, ``performance`` or ``build``.
        severity: the severity of the finding.
        sure: True if the defect is documented, measured or confirmed by a maintainer; False if it is only
            inferred, or if only users reported it.
        sms: ten times the compute capability of each affected GPU; empty for all GPUs.
        types: the affected element types, such as ``f16`` and ``bf16``; empty for all types.
        dtype: the float type of the node's inputs. If the inputs have no float type, the float type of
            the node's outputs. None if there is no float type.
        says: the description of the defect, a sentence without its full stop.
        way: a sentence about what the user can do.
        source: public URL of the evidence.
    """

    roles: ClassVar[Mapping[str, str]] = {"case": "the first operator that the defect affects"}

    hurts: Hurts
    severity: Grade
    sure: bool
    sms: tuple[int, ...]
    types: tuple[str, ...]
    dtype: ElementType | None
    says: str
    way: str
    source: str
    versions: Mapping[Product, str]

    @property
    def applies(self) -> Mapping[Product, str]:
        """The affected releases, by product."""
        return self.versions


def find(facts: Facts) -> Iterator[KnownBad]:
    """Yield, in the order of the table of defects, a fact for each known defect that affects the model."""
    for cause in causes(facts.model.graph.count):
        found = _first_fact(facts, cause) if cause.kind else _first_node(facts, cause)
        if found is not None:
            yield found


def _first_node(facts: Facts, cause: BadRelease) -> KnownBad | None:
    model = facts.model
    for node in model.graph.by_op(*cause.ops):
        names = {
            **names_of(node),
            "opset": model.opset or LATEST_OPSET,
            "bodies": {},
            "inside": (),
            "constants": model.constants,
        }
        if cause.where.truth(names) is True:
            return _known_bad(cause, names, node)
    return None


def _first_fact(facts: Facts, cause: BadRelease) -> KnownBad | None:
    for fact in facts.of(cause.kind):
        names = {name: getattr(fact, name) for name in type(fact).__struct_fields__}
        names["constants"] = facts.model.constants
        if fact.node is not None and cause.where.truth(names) is True:
            return _known_bad(cause, names, fact.node)
    return None


def _float_type(node: Node) -> ElementType | None:
    """Return the first float type among a node's inputs and outputs, or None.

    Inputs come before outputs.
    """
    types = (value.dtype for value in (*node.inputs, *node.outputs) if value is not None)
    return next((dtype for dtype in types if dtype in FLOAT_DTYPES), None)


def _known_bad(cause: BadRelease, names: Mapping[str, object], node: Node) -> KnownBad:
    return KnownBad(
        node=node,
        chain=(Step(node, "case"),),
        hurts=cause.hurts,
        severity=cause.severity,
        sure=cause.sure,
        sms=cause.sms,
        types=cause.types,
        dtype=_float_type(node),
        says=_with_gpus(cause.says.fill(names), cause.sms),
        way=_with_gpus(cause.way.fill(names), cause.sms),
        source=cause.source,
        versions=cause.applies,
    )


def _with_gpus(text: str, sms: Sequence[int]) -> str:
    """Replace ``this GPU`` in a text by the names of the affected GPUs.

    If there are more than ``_FEW`` GPUs, the function inserts ``these GPUs``.  The result must not say
    ``this GPU``, because the user perhaps named no GPU.
    """
    gpus = " or ".join(f"SM {sm // 10}.{sm % 10}" for sm in sms) if len(sms) <= _FEW else "these GPUs"
    return text.replace("this GPU", gpus) if sms else text
