"""Snapshot tests of verdicts and rewrites for variants of every rule example.

The examples of a rule hold on one side of each of its conditions.  Here each model is changed in one place
after another (:mod:`tests.variants`), and what the rule says and what its rewrites would write is kept.  A
changed outcome is either intended (``--snapshot-update``, and read the difference) or a condition that was
lost.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.fixes.proposing import proposed, spelled
from tests.variants import variants
from trtlint.engine.evaluate import Evaluation
from trtlint.engine.finding import Finding, Site
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import load_builtin
from trtlint.errors import TrtlintError
from trtlint.examples.fixed import fixed_examples
from trtlint.examples.models import model_of_text
from trtlint.examples.rules import examples
from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.fixes.patch import NotApplicable, Patch
from trtlint.model.load import load
from trtlint.target.target import Target

PLAIN, FIXED = 10, 24
"""Number of tested variants per example; the selection depends only on their names."""
_NUMBER = re.compile(r"-?\d+\.\d+(e[-+]?\d+)?")
"""Libraries of different versions differ in the last digits."""
RULES = tuple(load_builtin())
AREAS = sorted({rule.id[:5] for rule in RULES})


def models(rule: Rule) -> Iterator[tuple[str, str, bool, Target, int]]:
    """Return the models of a rule's examples: label, text, checker result, target and variants."""
    for number, example in enumerate(fixed_examples(rule)):
        yield f"fixed {number}", example.before.text, example.checked, example.target, FIXED
    for number, each in enumerate(examples(rule)):
        if each.command is None and [block.kind for block in each.blocks] == ["onnx"]:
            yield f"{each.expected} {number}", each.blocks[0].text, each.checked, each.target, PLAIN


def chosen(proto: onnx.ModelProto, count: int) -> Iterator[tuple[str, onnx.ModelProto]]:
    """Return the model and some variants."""
    found = dict(variants(proto))
    names = sorted(found, key=lambda name: (name != "as it is", zlib.crc32(name.encode())))
    return ((name, found[name]) for name in names[: count + 1])


def outcome(rule: Rule, path: Path, target: Target) -> str:
    """Return the verdict of a rule and the rewrites for a file, as one line."""
    try:
        model = load(path)
    except TrtlintError as error:
        return type(error).__name__
    facts = Facts(model, weights=True)
    report = Evaluation(facts).report([rule], target)
    said = []
    for finding in (*report.findings, *report.conditional):
        places = ", ".join(sorted(site.node for site in finding.sites))
        said.append(f"{finding.severity} {finding.confidence} {places}")
        said += [f"{name}: {written}" for name, written in rewritten(finding, facts)]
    return "; ".join(said) or "nothing"


def rewritten(finding: Finding, facts: Facts) -> Iterator[tuple[str, str]]:
    """Return for each rewrite the new operators of each site, with a digest of the patch."""
    for rewrite in finding.fixes:
        for site in finding.sites:
            yield rewrite.name, written(proposed(rewrite.name, fact_of(site, facts), facts.model))


def written(patch: Patch | NotApplicable) -> str:
    if isinstance(patch, NotApplicable):
        return "refused"
    ops = " ".join(node.op_type for node in patch.insert)
    text = _NUMBER.sub(lambda number: f"{float(number.group()):.4g}", spelled(patch))
    return f"{ops or 'no operator'} {hashlib.sha256(text.encode()).hexdigest()[:6]}"


def fact_of(site: Site, facts: Facts) -> Fact:
    if site.route is not None:
        return facts.of(site.route.kind)[site.route.position]
    nodes = facts.model.graph.nodes
    chain = tuple(Step(nodes[row.index], row.role) for row in site.rows if row.index is not None)
    node = next((step.node for step in chain if step.node.path == site.node), None)
    return Fact(node=node, chain=chain)


@pytest.mark.slow
@pytest.mark.parametrize("area", AREAS)
def test_neighbours_of_every_example(area: str, snapshot: SnapshotAssertion, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    lines = []
    for rule in (rule for rule in RULES if rule.id.startswith(area)):
        for label, text, checked, target, count in models(rule):
            model_of_text(text, path, checked=checked)
            found: dict[str, list[str]] = defaultdict(list)
            for name, proto in chosen(onnx.load(path, load_external_data=False), count):
                onnx.save(proto, path)
                found[outcome(rule, path, target)].append(name)
            lines.append(f"{rule.id} {label}")
            lines += [f"  {said}: {' | '.join(names)}" for said, names in found.items()]
    assert lines == snapshot
