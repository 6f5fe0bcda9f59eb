"""Tests of rule evaluation against facts and targets: findings and their messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.rules import make_rule
from tests.graphs import facts_of
from trtlint.engine.evaluate import evaluate
from trtlint.engine.finding import Finding, ModelReport
from trtlint.engine.reported import turn
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import load_builtin
from trtlint.facts.facts import Facts
from trtlint.report.wording import evidence_lines
from trtlint.target.target import Target

HEAD = '< ir_version: 8, opset_import: ["" : 17] > '
CHAIN = HEAD + "g (float[2] x) => (float[2] y) { a = Relu(x) b = Tanh(a) c = Relu(b) y = Sigmoid(c) }"


@pytest.fixture
def chain() -> Facts:
    return facts_of(CHAIN)


def report(rule: Rule, facts: Facts, **target: object) -> ModelReport:
    return evaluate([rule], facts, Target(**target))  # type: ignore[arg-type]


def only(rule: Rule, facts: Facts, **target: object) -> Finding:
    (finding,) = report(rule, facts, **target).findings
    return finding


def test_equal_findings_are_one_with_several_sites(tmp_path: Path, chain: Facts) -> None:
    finding = only(make_rule(tmp_path, where='op == "Relu"'), chain, version="10.7")
    assert (finding.rule, finding.name, finding.severity) == ("TST001", "a-rule", "warning")
    assert finding.message == "a Relu"
    assert [site.op for site in finding.sites] == ["Relu", "Relu"]
    assert [site.node for site in finding.sites] == [n.path for n in chain.model.graph.by_op("Relu")]
    assert len({site.fingerprint for site in finding.sites}) == 2


def test_findings_that_say_different_things_are_several(tmp_path: Path, chain: Facts) -> None:
    found = report(make_rule(tmp_path), chain).findings
    assert [finding.message for finding in found] == ["a Relu", "a Tanh", "a Sigmoid"]
    assert [len(finding.sites) for finding in found] == [2, 1, 1]
    assert len({finding.fingerprint for finding in found}) == 3


def test_what_is_said_of_the_whole_model_does_not_hang_on_its_first_operator() -> None:
    rule = load_builtin().rule("BLD215")
    head = HEAD + "g (bfloat16[2] x) => (bfloat16[2] y, bfloat16[2] z) "
    found = [
        only(rule, facts_of(head + nodes), version="10.7", gpu="T4")
        for nodes in ("{ y = Relu(x) z = Tanh(x) }", "{ z = Tanh(x) y = Relu(x) }")
    ]
    assert [finding.sites[0].op for finding in found] == ["Relu", "Tanh"]
    assert found[0].sites[0].fingerprint == found[1].sites[0].fingerprint


def test_findings_of_blocks_built_alike_have_fingerprints_of_their_own(tmp_path: Path) -> None:
    facts = facts_of(
        HEAD + "g (float[1,4,4,4] x) => (float[1,4,2,2] y, float[1,4,2,2] z) "
        "{ y = MaxPool<kernel_shape = [3, 3]>(x) z = MaxPool<kernel_shape = [3, 3], storage_order = 1>(x) }"
    )
    rule = make_rule(tmp_path, message="\"a pool {attributes['storage_order']}\"")
    found = report(rule, facts).findings
    assert [finding.message for finding in found] == ["a pool ?", "a pool 1"]
    assert len({finding.fingerprint for finding in found}) == 2
    assert len({site.fingerprint for finding in found for site in finding.sites}) == 2


def test_findings_are_sorted_by_severity_and_rule(tmp_path: Path, chain: Facts) -> None:
    rules = [
        make_rule(tmp_path, id="TST001", name="a", severity="note", where='op == "Tanh"'),
        make_rule(tmp_path, id="TST003", name="c", severity="error", where='op == "Tanh"'),
        make_rule(tmp_path, id="TST002", name="b", severity="error", where='op == "Sigmoid"'),
    ]
    found = evaluate(rules, chain, Target(version="10.7")).findings
    assert [finding.rule for finding in found] == ["TST002", "TST003", "TST001"]


def test_the_first_severity_that_holds_wins(tmp_path: Path, chain: Facts) -> None:
    rule = make_rule(
        tmp_path,
        severity_when='[{where: op == "Tanh", severity: error}, {where: op != "Relu", severity: note}]',
    )
    found = report(rule, chain).findings
    assert [(f.message, f.severity) for f in found] == [
        ("a Tanh", "error"),
        ("a Relu", "warning"),
        ("a Sigmoid", "note"),
    ]


def test_the_chain_is_drawn_and_marked_by_role(tmp_path: Path, chain: Facts) -> None:
    rule = make_rule(tmp_path, where='op == "Tanh"')
    (row,) = only(rule, chain).sites[0].rows
    assert (row.op, row.type, row.label) == ("Tanh", "f32[2]", "")
    rule = make_rule(tmp_path, where='op == "Tanh"', mark="{node: 'the {op}'}")
    finding = only(rule, chain)
    assert [row.label for row in finding.sites[0].rows] == ["the Tanh"]
    assert evidence_lines(finding) == (f"{finding.sites[0].node} (Tanh, f32[2]): the Tanh",)


def test_a_site_leads_back_to_its_fact_and_nodes(tmp_path: Path, chain: Facts) -> None:
    rule = make_rule(tmp_path, where='op == "Tanh"')
    (site,) = only(rule, chain).sites
    (row,) = site.rows
    assert row.index is not None
    assert site.route is not None
    node = chain.model.graph.nodes[row.index]
    assert (node.path, node.op, row.role) == (site.node, "Tanh", "node")
    assert chain.of(site.route.kind)[site.route.position].node is node


def test_a_pattern_is_reported_at_its_marked_node(tmp_path: Path, chain: Facts) -> None:
    front = {"find": "pattern", "match": "|\n  b = Tanh(a)\n  c = Relu(b)", "message": "two of {dtype(b)}"}
    finding = only(make_rule(tmp_path, **front), chain)
    assert (finding.message, finding.sites[0].op) == ("two of f32", "Relu")
    finding = only(make_rule(tmp_path, mark="[b]", **front), chain)
    assert finding.sites[0].op == "Tanh"
    assert [(row.op, row.label) for row in finding.sites[0].rows] == [("Tanh", "here"), ("Relu", "")]


def test_a_pattern_holds_if_one_of_its_readings_does(tmp_path: Path) -> None:
    facts = facts_of(HEAD + "g (float[2] p, float[3,2] q) => (float[3,2] y) { y = Add(p, q) }")
    front = {"find": "pattern", "match": "y = Add(small, large)", "message": "x"}
    for where in ("rank(small) == 1 and rank(large) == 2", "rank(small) == 2 and rank(large) == 1"):
        assert report(make_rule(tmp_path, where=where, **front), facts).findings
    assert not report(make_rule(tmp_path, where="rank(small) == rank(large)", **front), facts).findings


@pytest.mark.parametrize(
    ("target", "fires"),
    [
        ({"version": "10.7"}, True),
        ({"version": "10.7.0"}, True),
        ({"version": "10.8"}, False),
        ({"product": "tensorrt-rtx", "version": "1.5"}, False),
    ],
)
def test_the_versions_of_a_rule(tmp_path: Path, chain: Facts, target: dict[str, str], fires: bool) -> None:
    rule = make_rule(tmp_path, where='op == "Tanh"', applies='{tensorrt: ">=10.7,<10.8"}')
    found = report(rule, chain, **target)
    assert (len(found.findings), len(found.conditional)) == (int(fires), 0)


def test_a_version_that_is_not_exact_enough(tmp_path: Path, chain: Facts) -> None:
    rule = make_rule(tmp_path, where='op == "Tanh"', applies='{tensorrt: ">=10.13.3"}')
    found = report(rule, chain, version="10.13")
    assert found.findings == ()
    assert [(f.depends, f.confidence) for f in found.conditional] == [(("--trt",), "low")]
    assert only(rule, chain, version="10.13.3").confidence == "high"


@pytest.mark.parametrize(
    ("evidence", "applies", "version", "confidence"),
    [
        ("documented", ">=10.7,<10.8", "10.7", "high"),
        ("maintainer-confirmed", ">=10.7,<10.8", "10.7", "high"),
        ("measured", ">=10.7,<10.8", "10.7", "high"),
        ("user-reported", ">=10.7,<10.8", "10.7", "medium"),
        ("inferred", "*", "10.7", "medium"),
        ("documented", ">=10.7,<10.8", None, "low"),
        ("documented", "*", None, "high"),
        ("documented", ">=8.6", None, "high"),
    ],
)
def test_confidence(
    tmp_path: Path, chain: Facts, evidence: str, applies: str, version: str | None, confidence: str
) -> None:
    rule = make_rule(tmp_path, where='op == "Tanh"', evidence=evidence, applies=f'{{tensorrt: "{applies}"}}')
    finding = only(rule, chain, version=version)
    assert (finding.confidence, finding.evidence_level) == (confidence, evidence)
    assert finding.depends == ()


def test_a_version_not_given_is_named_not_hidden(tmp_path: Path, chain: Facts) -> None:
    rule = make_rule(tmp_path, where='op == "Tanh"', applies='{tensorrt: ">=10.12,<10.14"}')
    assert only(rule, chain).applies == "TensorRT 10.12 to 10.13"


def test_an_unknown_that_an_option_settles_is_conditional(tmp_path: Path, chain: Facts) -> None:
    rule = make_rule(tmp_path, where='op == "Relu" and target.fp16')
    found = report(rule, chain, version="10.7")
    assert found.findings == ()
    (finding,) = found.conditional
    assert (finding.depends, finding.confidence, len(finding.sites)) == (("--fp16",), "low", 2)
    assert only(rule, chain, version="10.7", asked=frozenset({"fp16"})).confidence == "high"
    refused = report(rule, chain, version="10.7", refused=frozenset({"fp16"}))
    assert refused.findings == refused.conditional == ()


def test_an_unknown_that_only_the_file_could_settle_is_silent(tmp_path: Path) -> None:
    facts = facts_of(HEAD + "g (float[N] x) => (float[N] y) { y = Relu(x) }")
    rule = make_rule(tmp_path, where="dim(outputs[0], 0) > 4")
    found = report(rule, facts, version="10.7")
    assert found.findings == found.conditional == ()
    rule = make_rule(tmp_path, where="dim(outputs[0], 0) > 4 and target.fp16")
    assert report(rule, facts, version="10.7").conditional == ()


def test_definite_and_conditional_sites_of_a_rule_never_share_a_fingerprint(
    tmp_path: Path, chain: Facts
) -> None:
    rule = make_rule(tmp_path, where='op == "Tanh" or op == "Relu" and target.fp16', message="x")
    found = report(rule, chain, version="10.7")
    sites = [site for f in (*found.findings, *found.conditional) for site in f.sites]
    assert len(found.findings) == len(found.conditional) == 1
    assert len({site.fingerprint for site in sites}) == 3


@pytest.mark.parametrize(
    ("target", "advice"),
    [
        ({"version": "10.8"}, ("old", "any")),
        ({"version": "11.0"}, ("new", "any")),
        ({"product": "tensorrt-rtx", "version": "1.5"}, ("any", "rtx")),
        ({}, ("TensorRT up to 10.16: old", "TensorRT 11.0 and newer: new", "any")),
    ],
)
def test_advice_for_the_target(
    tmp_path: Path, chain: Facts, target: dict[str, str], advice: tuple[str, ...]
) -> None:
    entries = (
        '[{tensorrt: "<11", do: old}, {tensorrt: ">=11", do: new}, {do: any}, {tensorrt-rtx: "*", do: rtx}]'
    )
    assert only(make_rule(tmp_path, where='op == "Tanh"', advice=entries), chain, **target).advice == advice


def test_advice_with_a_condition_is_left_out_only_where_that_is_false(tmp_path: Path, chain: Facts) -> None:
    entries = "[{where: target.fp16, do: half}, {where: not target.fp16, do: full}, {do: 'the {op}'}]"
    rule = make_rule(tmp_path, where='op == "Tanh"', advice=entries)
    assert only(rule, chain, version="10.7").advice == ("half", "full", "the Tanh")
    assert only(rule, chain, version="11.0").advice == ("full", "the Tanh")


def test_advice_for_the_whole_range_of_the_rule_does_not_repeat_it(tmp_path: Path, chain: Facts) -> None:
    rule = make_rule(
        tmp_path,
        where='op == "Tanh"',
        applies='{tensorrt: ">=10.7,<10.8"}',
        advice='[{tensorrt: ">=10.7,<10.8", do: upgrade}]',
    )
    assert only(rule, chain).advice == ("upgrade",)


def test_a_rule_about_the_whole_model(tmp_path: Path, chain: Facts) -> None:
    rule = make_rule(tmp_path, find="model", where="opset < 18", message="opset {opset}, {exporter}")
    finding = only(rule, chain)
    (site,) = finding.sites
    assert finding.message.startswith("opset 17, ")
    assert (site.node, site.op, site.rows, site.source) == ("", "", (), None)


def test_several_targets_share_the_facts(tmp_path: Path, chain: Facts) -> None:
    rule = make_rule(tmp_path, where='op == "Tanh"', applies='{tensorrt: ">=10.7,<10.8"}')
    found = [report(rule, chain, version=version) for version in ("10.6", "10.7", "10.8")]
    assert [len(one.findings) for one in found] == [0, 1, 0]
    assert [one.target for one in found] == ["TensorRT 10.6", "TensorRT 10.7", "TensorRT 10.8"]
    assert only(rule, chain, version="10.7").fingerprint == found[1].findings[0].fingerprint


def test_the_report_carries_path_and_notes_of_the_model(chain: Facts) -> None:
    found = evaluate([], chain, Target())
    assert (found.path, found.notes) == (str(chain.model.path), chain.model.notes)


@pytest.mark.slow
def test_sites_of_real_rules_have_fingerprints_of_their_own(exported: Path) -> None:
    from trtlint.model.load import load

    rules = load_builtin()
    paths = sorted(exported.glob("attn_*__op20__fp32.onnx"))
    assert paths
    for path in paths:
        found = evaluate(rules, Facts(load(path)), Target(version="10.7", gpu="L4"))
        every = [
            (f.rule, site.fingerprint) for f in (*found.findings, *found.conditional) for site in f.sites
        ]
        assert len(set(every)) == len(every)


def test_fingerprints_stay_what_they_were(tmp_path: Path, chain: Facts) -> None:
    """Baselines contain fingerprints, so a new version of trtlint must not change them."""
    finding = only(make_rule(tmp_path, where='op == "Relu"'), chain)
    assert finding.fingerprint == "09f785098c30e0ba"
    assert [site.fingerprint for site in finding.sites] == ["7c9c130de6105e73", "be76125f65e29ec1"]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ('model.opset < 17 and op == "Relu"', 0),
        ('model.opset > 16 and op == "Relu"', 2),
        ('op == "Relu" and model.opset == 17', 2),
    ],
)
def test_a_condition_about_the_model_decides_for_all_places(
    tmp_path: Path, chain: Facts, where: str, found: int
) -> None:
    reported = report(make_rule(tmp_path, where=where), chain)
    assert sum(len(finding.sites) for finding in reported.findings) == found
    assert (reported.unsearched, reported.conditional) == ((), ())


def test_a_pattern_in_a_small_graph_is_searched_whole(tmp_path: Path, chain: Facts) -> None:
    rule = make_rule(tmp_path, find="pattern", match="y = Tanh(x)", message="x")
    reported = report(rule, chain)
    assert [site.op for finding in reported.findings for site in finding.sites] == ["Tanh"]
    assert reported.unsearched == ()


def test_rules_about_experiments_come_in_their_turns() -> None:
    turns = {
        id_: turn(load_builtin().rule(id_)) for id_ in ("ACC102", "DRY101", "DRY102", "LOG101", "LOG124")
    }
    assert turns == {
        "ACC102": (0, False),
        "DRY101": (1, False),
        "DRY102": (3, False),
        "LOG101": (2, False),
        "LOG124": (2, True),
    }
