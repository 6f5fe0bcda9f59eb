"""Give each operator a unique name."""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.facts.of_model.shared_name import SharedName
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model
from trtlint.model.protos import text


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that adds a number to a repeated name, except at the first operator with this name."""
    if not isinstance(fact, SharedName) or fact.node is None:
        raise NotApplicable("there is no other operator with the name of this operator")
    scope = fact.node.scope
    same = [node for node in model.graph.nodes if node.scope == scope and text(node.proto.name) == fact.name]
    taken, number = set(model.graph.node_names), 1
    draft = Draft(model, fact.node)
    for node in same[1:]:
        while (name := f"{fact.name}_{number}") in taken:
            number += 1
        taken.add(name)
        draft.again(node).name = name
    return draft.patch(f"gives unique names to operators called {fact.name}", same[1:])
