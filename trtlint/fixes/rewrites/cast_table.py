"""Cast the table of a Gather before the Gather, instead of casting the selected rows.

The builder folds a Cast of a constant.  Each element is rounded once in both orders, so the results are
bit-identical.
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that swaps a Gather and the Cast after it."""
    steps = {step.node.op: step.node for step in fact.chain}
    if not {"Gather", "Cast"} <= steps.keys():
        raise NotApplicable("there is no Gather followed by a Cast at this place")
    gather, cast = steps["Gather"], steps["Cast"]
    table, rows = gather.inputs[:2]
    if table is None or rows is None or model.constants.stored(table) is None:
        raise NotApplicable("the table is not stored in the model")
    if [reader for reader, _ in gather.output.uses] != [cast] or gather.output.is_output:
        raise NotApplicable("another operator also reads the selected rows")
    if gather.output.leaves_body or gather.scope != cast.scope:
        raise NotApplicable("Gather and Cast are not in the same graph")
    draft = Draft(model, gather)
    narrow = draft.op("Cast", table, to=cast.integer("to", 0))
    draft.op("Gather", narrow, rows, axis=gather.integer("axis", 0), out=cast.output.name)
    return draft.patch("casts the table of the Gather instead of the selected rows", [gather, cast])
