"""Tests of real-model baselines: known findings survive a re-export, new blocks are new sites."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.conftest import REPOSITORY
from tests.engine.disguise import renamed, reordered
from tests.linting import lint_file
from tests.sampling import EVERY
from trtlint.engine.finding import ModelReport
from trtlint.engine.fingerprint import Fingerprints
from trtlint.engine.rulebook import Rulebook, load_builtin
from trtlint.model.load import load
from trtlint.policy.baseline import Baseline
from trtlint.target.target import Target

TARGETS = (Target(version="10.7", gpu="L4", asked=frozenset({"fp16"})), Target(product="tensorrt-rtx"))
FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@cache
def rules() -> Rulebook:
    return load_builtin()


def real_models() -> list[Path]:
    """Return the models in examples/, and the exported models if present."""
    shared = Path(os.environ.get("TRTLINT_SHARED", REPOSITORY.parent / "shared"))
    return [
        *sorted(REPOSITORY.glob("examples/**/*.onnx")),
        *sorted((shared / "data" / "exported").glob("*.onnx")),
    ]


MODELS = real_models()


def reports_of(path: Path) -> tuple[ModelReport, ...]:
    return lint_file(path, TARGETS, rules())


def everything(path: Path) -> tuple[set[tuple[str, str]], set[str]]:
    """Return rule and fingerprint of every certain or possible site, and all node fingerprints."""
    reports = reports_of(path)
    assert [made.errors for made in reports] == [()] * len(TARGETS)
    sites = {
        (found.rule, site.fingerprint)
        for made in reports
        for found in (*made.findings, *made.conditional)
        for site in found.sites
    }
    model = load(path)
    prints = Fingerprints(model)
    nodes = prints.number([(prints.describe("", "node", node), node) for node in model.graph.nodes])
    assert len(set(nodes)) == len(nodes)
    return sites, set(nodes)


def check_survives(path: Path, folder: Path, seed: int) -> None:
    """Check that renamed and reordered models keep fingerprints without new or removed sites."""
    file = folder / "m.onnx"
    baseline = Baseline(folder / "baseline.json")
    baseline.record(file, reports_of(path))
    before = everything(path)
    onnx.save(reordered(renamed(onnx.load(path), seed), seed), file)
    assert everything(file) == before
    ids = frozenset(rule.id for rule in rules())
    for made in baseline.apply(file, reports_of(file), ids, ids):
        assert made.findings == ()
        assert made.gone == ()


@pytest.mark.slow
@FEW
@given(path=st.sampled_from(MODELS), seed=st.integers(0, 10_000))
def test_a_baseline_survives_a_re_export(tmp_path: Path, path: Path, seed: int) -> None:
    check_survives(path, tmp_path, seed)


@pytest.mark.skipif(not EVERY, reason="TRTLINT_ALL_MODELS is not set")
@pytest.mark.parametrize("path", MODELS if EVERY else [], ids=lambda path: path.stem)
def test_every_baseline_survives_a_re_export(tmp_path: Path, path: Path) -> None:
    check_survives(path, tmp_path, len(path.name) * 31 + 7)


BAD = """
qs{i} = Mul (q{i}, s)
ks{i} = Mul (kt{i}, s)
w{i} = MatMul (qs{i}, ks{i})
p{i} = Softmax <axis = -1> (w{i})
o{i} = MatMul (p{i}, v{i})
"""


def attach(proto: onnx.ModelProto) -> None:
    """Add a block with its attention scale on both operands after the first output of a model."""
    head = '< ir_version: 8, opset_import: ["" : 17] > g (float[1,8,197,64] extra) => (float[1,8,197,64] o) '
    inputs = "q = Add (extra, extra) kt = Transpose <perm = [0,1,3,2]> (extra) v = Add (q, q)"
    body = f"< float s = {{0.3}} > {{ {inputs} {BAD.format(i='')} }}"
    block = onnx.parser.parse_model(head + body).graph
    first = proto.graph.output[0].name
    bridge = [
        onnx.helper.make_node("Cast", [first], ["bad_c"], to=onnx.TensorProto.FLOAT),
        onnx.helper.make_node("ReduceMax", ["bad_c"], ["bad_m"], keepdims=0),
        onnx.helper.make_node("Add", ["bad_m", "bad_extra"], ["bad_in"]),
    ]
    for node in block.node:
        node.input[:] = ["bad_in" if name == "extra" else f"bad_{name}" for name in node.input]
        node.output[:] = [f"bad_{name}" for name in node.output]
    every: list[onnx.TensorProto | onnx.ValueInfoProto] = [*block.initializer, *block.input, *block.output]
    for named in every:
        named.name = f"bad_{named.name}"
    proto.graph.node.extend([*bridge, *block.node])
    proto.graph.initializer.extend(block.initializer)
    proto.graph.input.extend(block.input)
    proto.graph.output.extend(block.output)


def check_one_new(path: Path, folder: Path, seed: int) -> None:
    """Check that one added bad block gives exactly one new site and no removed site."""
    file = folder / "m.onnx"
    book = [rules().rule("ACC102")]
    target = [Target(version="10.7")]
    baseline = Baseline(folder / "baseline.json")
    baseline.record(file, lint_file(path, target, book))
    proto = onnx.load(path)
    if not proto.graph.output:
        return
    attach(proto)
    onnx.save(reordered(renamed(proto, seed), seed), file)
    (made,) = baseline.apply(
        file, lint_file(file, target, book), frozenset({"ACC102"}), frozenset({"ACC102"})
    )
    assert [len(found.sites) for found in made.findings] == [1]
    assert made.gone == ()


@pytest.mark.slow
@FEW
@given(path=st.sampled_from(MODELS), seed=st.integers(0, 10_000))
def test_one_more_bad_block_is_one_new_finding(tmp_path: Path, path: Path, seed: int) -> None:
    check_one_new(path, tmp_path, seed)


@pytest.mark.skipif(not EVERY, reason="TRTLINT_ALL_MODELS is not set")
@pytest.mark.parametrize("path", MODELS if EVERY else [], ids=lambda path: path.stem)
def test_one_more_bad_block_is_one_new_finding_in_every_model(tmp_path: Path, path: Path) -> None:
    check_one_new(path, tmp_path, len(path.name))


def chain(kinds: list[str], more: int | None = None, *, projected: bool = True) -> onnx.ModelProto:
    """Return a chain of blocks: ``bad`` ones, and others that the rule accepts.

    Args:
        kinds: the blocks.
        more: position of one additional bad block; the nodes of the others keep their names.
        projected: whether a bad block computes Q from its input or uses the input itself.
    """
    numbered = list(enumerate(kinds))
    if more is not None:
        numbered.insert(more, (99, "bad"))
    lines, x = ["x = Add (input, input)"], "x"
    for i, kind in numbered:
        if kind == "bad":
            q = f"q{i}" if projected else x
            block = BAD.format(i=i).replace(f"q{i},", f"{q},").strip().splitlines()
            lines += [
                f"q{i} = Add ({x}, {x})",
                f"kt{i} = Transpose <perm = [0,1,3,2]> ({x})",
                f"v{i} = Relu ({x})",
            ]
            lines += [*block, f"x{i} = Add (o{i}, {x})"]
        else:
            lines += [f"h{i} = {kind} ({x})", f"x{i} = Add (h{i}, {x})"]
        x = f"x{i}"
    lines.append(f"y = Sigmoid ({x})")
    model = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > g (float[1,8,197,64] input) => (float[1,8,197,64] y) '
        "< float s = {0.3} > { " + "\n".join(lines) + " }"
    )
    for node in model.graph.node:
        node.name = f"/{node.output[0]}"
    return model


def check_chain(folder: Path, before: onnx.ModelProto, after: onnx.ModelProto, bad: int) -> None:
    """Check that the second model has one new site of ACC102, and the first has ``bad`` sites."""
    book = [rules().rule("ACC102")]
    ids = frozenset({"ACC102"})
    file = folder / "m.onnx"
    baseline = Baseline(folder / "baseline.json")
    onnx.save(before, file)
    first = lint_file(file, [Target(version="10.7")], book)
    assert sum(len(found.sites) for found in first[0].findings) == bad
    baseline.record(file, first)
    onnx.save(after, file)
    (made,) = baseline.apply(file, lint_file(file, [Target(version="10.7")], book), ids, ids)
    assert [len(found.sites) for found in made.findings] == [1]
    assert made.gone == ()


KINDS = st.lists(st.sampled_from(["bad", "Tanh", "Sin"]), max_size=5)


@pytest.mark.slow
@FEW
@given(kinds=KINDS, place=st.integers(0, 5), seed=st.integers(0, 10_000))
def test_a_bad_block_anywhere_is_one_new_finding_whatever_its_names(
    tmp_path: Path, kinds: list[str], place: int, seed: int
) -> None:
    after = reordered(renamed(chain(kinds, place), seed), seed)
    check_chain(tmp_path, chain(kinds), after, kinds.count("bad"))


@pytest.mark.slow
@FEW
@given(kinds=KINDS, place=st.integers(0, 5), seed=st.integers(0, 10_000))
@example(kinds=["Tanh", "bad", "Tanh", "bad"], place=0, seed=0)
def test_so_is_one_that_becomes_part_of_the_others_surroundings(
    tmp_path: Path, kinds: list[str], place: int, seed: int
) -> None:
    after = reordered(chain(kinds, place, projected=False), seed)
    check_chain(tmp_path, chain(kinds, projected=False), after, kinds.count("bad"))
