"""Tests of parts predicted from findings."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.parser
import pytest
from msgspec.structs import replace

from trtlint.case import Case
from trtlint.engine.evidence.partition import PartitionEvidence
from trtlint.engine.partition import predicted
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.ruleset import RuleSet
from trtlint.knowledge.providers import Provider
from trtlint.model.load import load
from trtlint.partition import predict as predict_module
from trtlint.partition.predict import Reason, predict
from trtlint.partition.result import Border, Partition, ProviderSettings, RemainingNode, Split
from trtlint.policy.options import TargetOptions
from trtlint.policy.targets import targets_of

TWO_UNIQUES = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,4] x) => (float[N] y) {
  [a] p = Relu (x)
  [u1] q = Unique (p)
  [b] r = Abs (q)
  [u2] s = Unique (r)
  [c] y = Neg (s)
}
"""
IN_A_BODY = """
< ir_version: 8, opset_import: ["" : 17] >
g (bool c, float[4] x) => (float[N] y) {
  [a] p = Relu (x)
  [branch] y = If (c) <
    then_branch = t () => (float[N] t1) { [n1] t1 = Unique (p) },
    else_branch = e () => (float[N] e1) { [n2] e0 = Neg (p) [n3] e1 = Abs (e0) }
  >
}
"""


def write(folder: Path, text: str) -> Path:
    """Write a model."""
    path = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    return path


def partition(
    path: Path, provider: Provider = "tensorrt", settings: ProviderSettings | None = None, *, select: str = ""
) -> dict[str, object]:
    """Predict the parts of a model, for TensorRT-RTX 1.7."""
    entries = [entry for entry in load_builtin().entries if entry.id.startswith(select)]
    evidence = PartitionEvidence(provider, settings or ProviderSettings())
    targets = tuple(targets_of(TargetOptions(rtx=("1.7",))))
    report = Case(path, targets, RuleSet(entries), evidence=(evidence,)).evaluate()
    found: dict[str, object] = next(each for each in report.evidence if each.kind == "partition").data
    return found


def test_every_refused_node_divides_a_model(tmp_path: Path) -> None:
    found = partition(write(tmp_path, TWO_UNIQUES))
    assert found["parts"] == [["a"], ["b"], ["c"]]
    assert found["left"] == ["u1", "u2"]
    splits = found["splits"]
    assert isinstance(splits, list)
    (split,) = splits
    assert split["nodes"] == ["u1", "u2"]
    assert (split["parts"], split["left"]) == (1, 0)
    assert split["rules"]


def test_refusals_count_whatever_rules_run(tmp_path: Path) -> None:
    assert partition(write(tmp_path, TWO_UNIQUES), select="PERF")["left"] == ["u1", "u2"]


def test_excluded_operators_are_left(tmp_path: Path) -> None:
    settings = ProviderSettings(exclude=frozenset({"Abs"}))
    assert partition(write(tmp_path, TWO_UNIQUES), settings=settings)["left"] == ["u1", "b", "u2"]


def test_small_parts_are_given_up(tmp_path: Path) -> None:
    found = partition(write(tmp_path, TWO_UNIQUES), settings=ProviderSettings(min_nodes=2))
    assert found["parts"] == []
    assert len(found["dropped"]) == 3  # type: ignore[arg-type]


def test_a_branch_whose_body_is_divided_is_left(tmp_path: Path) -> None:
    found = partition(write(tmp_path, IN_A_BODY))
    left = found["left"]
    assert isinstance(left, list)
    assert "branch" in left
    assert "branch/then_branch/n1" in left
    assert ["a"] in found["parts"]  # type: ignore[operator]


def test_bytes_at_borders_are_counted(tmp_path: Path) -> None:
    found = partition(write(tmp_path, TWO_UNIQUES))
    borders = found["borders"]
    assert isinstance(borders, dict)
    assert borders["bytes"] == 4 * 4 * 4  # p; the others are as long as the data say
    assert borders["unknown"] == 3


@pytest.mark.parametrize(
    ("provider", "left"), [("tensorrt", ["i", "k"]), ("nv-tensorrt-rtx", ["i", "k", "r"])]
)
def test_types_that_no_network_has_are_left(tmp_path: Path, provider: Provider, left: list[str]) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (uint16[4] x) => (float[4] y) { [i] a = Flatten (x) [k] b = Cast <to = 1> (a) [r] y = Relu (b) }
    """
    assert partition(write(tmp_path, text), provider)["left"] == left


def test_a_part_that_cannot_be_built_ends_the_session(tmp_path: Path) -> None:
    """TopK supports at most 3,840 elements; the builder reports the limit, the parser does not."""
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4,8000] x) => (float[4,5000] v, int64[4,5000] i) < int64[1] k = {5000} >
    { [r] p = Relu (x) [t] v, i = TopK (p, k) }
    """
    found = partition(write(tmp_path, text), "nv-tensorrt-rtx")
    assert found["parts"] == [["r", "t"]]
    assert "cannot build the part of the model that contains t" in str(found["failure"])


FOLDED_AXES = """
< ir_version: 8, opset_import: ["" : 18] >
g (float[2,3] x) => (float[2,1] y) < int64[1] two = {2}, int64[1] one = {1} >
{ [r] p = Relu (x) [a] axes = Sub (two, one) [s] y = ReduceSum (p, axes) }
"""


def test_operands_that_onnx_runtime_computes_refuse_nothing(tmp_path: Path) -> None:
    """The parser refuses computed axes, but ONNX Runtime computes them first."""
    path = write(tmp_path, FOLDED_AXES)
    assert partition(path)["parts"] == [["r", "s"]]
    targets = tuple(targets_of(TargetOptions(rtx=("1.7",))))
    opened = Case(path, targets, RuleSet(load_builtin().entries)).open()
    assert opened.model is not None
    findings = opened.evaluate().findings
    before = predicted(opened.model, findings, "tensorrt", ProviderSettings(), rewritten=False)
    assert [each.node for each in before.left] == ["s"]


DECIDED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x) => (float[4] z) < bool c = {1} > {
  [a] p = Relu (x)
  [branch] y = If (c) <
    then_branch = t () => (float[4] t1) { [n1] t0 = Neg (p) [n2] t1 = Abs (t0) },
    else_branch = e () => (float[4] e1) { [n3] e1 = Unique (p) }
  >
  [b] z = Exp (y)
}
"""


def test_a_decided_branch_belongs_to_the_graph_around_it(tmp_path: Path) -> None:
    found = partition(write(tmp_path, DECIDED))
    assert found["parts"] == [["a", "branch/then_branch/n1", "branch/then_branch/n2", "b"]]
    assert found["left"] == []


def test_stored_quantizers_are_computed_and_dequantizers_are_not(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[2,2] x) => (float[N] y) < float[2,2] w = {1,2,3,4}, float s = {1}, int8 z = {0} > {
      [q] a = QuantizeLinear (w, s, z) [d] b = DequantizeLinear (a, s, z) [t] c = Transpose (b)
      [m] e = MatMul (x, c) [u] y = Unique (e)
    }
    """
    found = partition(write(tmp_path, text))
    assert found["parts"] == [["d", "t", "m"]]
    assert found["left"] == ["u"]


@pytest.mark.parametrize(("given", "left"), [("p", ["u"]), ("x", ["u", "i"])])
def test_an_identity_of_an_input_stays(tmp_path: Path, given: str, left: list[str]) -> None:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x) => (float[N] y, float[4] z) {{
      [a] p = Relu (x) [u] y = Unique (x) [i] z = Identity ({given})
    }}
    """
    found = partition(write(tmp_path, text), settings=ProviderSettings(exclude=frozenset({"Identity"})))
    assert found["left"] == left


MIXED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,4] x, float16[4] s, float16[4] b) => (float[4,4] y) {
  [n1] p = LayerNormalization (x, s, b) [a] q = Relu (p)
  [n2] r = LayerNormalization (q, s, b) [c] y = Abs (r)
}
"""


@pytest.mark.parametrize("select", ["", "PERF"])
def test_every_node_of_mixed_types_divides_a_model(tmp_path: Path, select: str) -> None:
    found = partition(write(tmp_path, MIXED), select=select)
    assert found["left"] == ["n1", "n2"]
    assert found["parts"] == [["a"], ["c"]]


@pytest.mark.parametrize(("text", "left"), [(MIXED, ["n1", "n2"]), (FOLDED_AXES, [])])
def test_the_names_of_rules_and_rewrites_do_not_matter(tmp_path: Path, text: str, left: list[str]) -> None:
    targets = tuple(targets_of(TargetOptions(rtx=("1.7",))))
    opened = Case(write(tmp_path, text), targets, RuleSet(load_builtin().entries)).open()
    assert opened.model is not None
    findings = [
        replace(finding, rule="NEW001", fixes=tuple(replace(fix, name="new") for fix in finding.fixes))
        for finding in opened.evaluate().findings
    ]
    found = predicted(opened.model, findings, "tensorrt", ProviderSettings())
    assert [each.node for each in found.left] == left


def test_a_refusal_without_a_node_leaves_everything(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x, int64[2] i, float[2] u) => (float[4] y) {
      [a] p = Relu (x) [s] q = ScatterElements <axis = 0, reduction = "add"> (p, i, u) [b] y = Abs (q)
    }
    """
    found = partition(write(tmp_path, text))
    assert found["parts"] == []
    assert found["left"] == ["a", "s", "b"]


WIDE = """
< ir_version: 8, opset_import: ["" : 17] >
g (double[4] x, float[4] w) => (float[4] y, float[4] z) {
  [a] p = Cast <to = 1> (x) [b] y = Relu (p) [c] z = Abs (w)
}
"""


def test_the_rtx_provider_takes_nothing_with_a_double_input(tmp_path: Path) -> None:
    path = write(tmp_path, WIDE)
    found = partition(path, "nv-tensorrt-rtx")
    assert found["parts"] == []
    assert found["left"] == ["a", "b", "c"]
    assert found["dropped"] == ["the model: the provider accepts no f64 inputs or outputs, such as x"]
    assert partition(path)["parts"] == [["a", "b", "c"]]


def test_double_scalars_and_tensors_inside_are_no_reason(tmp_path: Path) -> None:
    text = """
    < ir_version: 8, opset_import: ["" : 17] >
    g (double x, float[4] w) => (float[4] y) {
      [a] p = Cast <to = 11> (w) [b] q = Mul (p, x) [c] y = Cast <to = 1> (q)
    }
    """
    assert partition(write(tmp_path, text), "nv-tensorrt-rtx")["parts"] == [["a", "b", "c"]]


PADDED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,4] x, int64[4] p) => (float[N,M] y) { [a] y = Pad (x, p) }
"""


@pytest.mark.parametrize(
    "node",
    [
        "y = Reshape (x, p)",
        "b = Cast <to = 6> (p) c = Cast <to = 7> (b) y = Expand (x, c)",
        "y = Resize (x, , , p)",
        "v, i = TopK (x, p) y = Relu (v)",
    ],
)
def test_shapes_that_a_session_gets_at_run_time(tmp_path: Path, node: str) -> None:
    text = f"""
    < ir_version: 8, opset_import: ["" : 17] >
    g (float[4,4] x, int64[M] p) => (float[a,b] y) {{ {node} }}
    """.replace("int64[M]", "int64[1]" if "TopK" in node else "int64[2]")
    assert "input p" in str(partition(write(tmp_path, text), "nv-tensorrt-rtx")["failure"])


def test_the_rtx_provider_makes_no_profile_for_the_values_of_a_shape(tmp_path: Path) -> None:
    path = write(tmp_path, PADDED)
    assert "input p" in str(partition(path, "nv-tensorrt-rtx")["failure"])
    assert partition(path, "nv-tensorrt-rtx", ProviderSettings(profile=True))["failure"] == ""
    assert partition(path)["failure"] == ""
    path = write(tmp_path, PADDED.replace("float[4,4] x", "float[A,4] x"))
    assert partition(path, "nv-tensorrt-rtx")["failure"] == ""


HALVES = """
< ir_version: 8, opset_import: ["" : 17] >
g (SHAPES) => (float[N] y, float[A] z) < float one = {1} >
{ [a] p = Clip (x, , one) [u] q = Unique (p) [b] y = Add (q, w) [d] z = Add (v, p) }
"""


@pytest.mark.parametrize(
    ("shapes", "name"),
    [
        ("float[4] x, float[4] w, float[4] v", "q"),
        ("float[n] x, float[4] w, float[m] v", "q"),
        ("float[] x, float[4] w, float[4] v", "x"),
    ],
)
def test_a_tensor_without_a_full_shape_ends_the_session(tmp_path: Path, shapes: str, name: str) -> None:
    proto = onnx.parser.parse_model(HALVES.replace("SHAPES", shapes.replace("float[] x", "float[4] x")))
    if "float[] x" in shapes:
        proto.graph.input[0].type.tensor_type.shape.dim[0].Clear()
    onnx.save(proto, tmp_path / "m.onnx")
    failure = str(partition(tmp_path / "m.onnx")["failure"])
    assert failure == f"tensor {name} has no full shape: Please run shape inference on the onnx model first"
    assert partition(tmp_path / "m.onnx", "nv-tensorrt-rtx")["failure"] == ""


def test_shapes_inside_of_a_region_may_be_unknown(tmp_path: Path) -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x, int64[1] n) => (float[N] y, float[A] z)
    { [t] p = Tile (x, n) [a] z = Relu (p) [b] q = Neg (x) [u] y = Unique (q) }"""
    found = partition(write(tmp_path, text))
    assert (found["left"], found["failure"]) == (["u"], "")


TYPED_BODY = """
< ir_version: 8, opset_import: ["" : 17] >
g (bool c, float[4] x) => (float[4] y) {
  [a] p = Relu (x)
  [branch] y, w = If (c) <
    then_branch = t () => (float[4] t1, TYPE[4] t2) { [n1] t1 = Neg (p) [n2] t2 = Cast <to = NUMBER> (p) },
    else_branch = e () => (float[4] e1, TYPE[4] e2) { [n3] e1 = Abs (p) [n4] e2 = Cast <to = NUMBER> (p) }
  >
}
"""


@pytest.mark.parametrize(
    ("provider", "dtype", "number", "refused"),
    [
        ("nv-tensorrt-rtx", "float", 1, False),
        ("nv-tensorrt-rtx", "double", 11, True),
        ("tensorrt", "double", 11, False),
    ],
)
def test_types_at_the_border_of_a_body(
    tmp_path: Path, provider: Provider, dtype: str, number: int, refused: bool
) -> None:
    text = TYPED_BODY.replace("TYPE", dtype).replace("NUMBER", str(number))
    dropped = [
        f"branch/{body}: the provider accepts no f64 inputs or outputs, such as {name}"
        for body, name in (("then_branch", "t2"), ("else_branch", "e2"))
    ]
    assert partition(write(tmp_path, text), provider)["dropped"] == (dropped if refused else [])


SMALL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,4] x, float[N] n) => (float[4,4] y, float[M] z) {
  [a] p = Relu (x) [u1] q = Sin (p) [b] r = Abs (q) [u2] s = Sin (r) [v] t = Cos (s) [c] y = Neg (t)
  [w] z = Tan (n)
}
"""


def direct(
    path: Path,
    refused: dict[str, Reason],
    provider: Provider = "nv-tensorrt-rtx",
    settings: ProviderSettings | None = None,
    *,
    rewritten: bool = True,
) -> Partition:
    """Predict the parts of a model with some refused nodes."""
    model = load(path)
    nodes = {node.path: node for node in model.graph.nodes}
    given = {nodes[name]: reason for name, reason in refused.items()}
    return predict(
        model.graph, model.constants, given, provider, settings or ProviderSettings(), rewritten=rewritten
    )


NO_SIN = Reason("no Sin", ("BLD1", "BLD2"), ("a-fix",))
NO_COS = Reason("no Cos", ("BLD3",))


def test_a_prediction(tmp_path: Path) -> None:
    path = write(tmp_path, SMALL)
    refused = {"u1": NO_SIN, "u2": Reason("other", ("BLD2", "BLD4"), ("b-fix", "a-fix")), "v": NO_COS}
    found = direct(path, {**refused, "w": Reason("no Tan")})
    assert found == Partition(
        "nv-tensorrt-rtx",
        "predicted",
        (("a",), ("b",), ("c",)),
        (
            RemainingNode("u1", "Sin", "no Sin", ("BLD1", "BLD2")),
            RemainingNode("u2", "Sin", "other", ("BLD2", "BLD4")),
            RemainingNode("v", "Cos", "no Cos", ("BLD3",)),
            RemainingNode("w", "Tan", "no Tan"),
        ),
        borders=(
            Border("p", 64),
            Border("q", 64),
            Border("r", 64),
            Border("t", 64),
        ),
        splits=(
            Split("Sin", ("u1", "u2"), ("BLD1", "BLD2", "BLD4"), "no Sin", ("a-fix", "b-fix"), 2, 2, 192),
            Split("Cos", ("v",), ("BLD3",), "no Cos", (), 3, 3, 64),
            Split("Tan", ("w",), (), "no Tan", (), 3, 3, 0),
        ),
    )


def test_a_model_without_refused_nodes_is_one_part(tmp_path: Path) -> None:
    found = direct(write(tmp_path, SMALL), {})
    assert found == Partition("nv-tensorrt-rtx", "predicted", (("a", "u1", "b", "u2", "v", "c", "w"),), ())


def test_parts_are_counted_for_the_most_costly_operators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, SMALL)
    refused = {"u1": NO_SIN, "u2": NO_SIN, "v": NO_COS}
    for most, counts in ((2, [(2, 1), (3, 2)]), (1, [(2, 1), (None, None)]), (0, [(None, None)] * 2)):
        monkeypatch.setattr(predict_module, "_MOST_SPLITS", most)
        assert [(each.parts, each.left) for each in direct(path, refused).splits] == counts


def test_operators_of_equal_cost_are_sorted(tmp_path: Path) -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] >
    g (float[N] x) => (float[N] a, float[N] b, float[N] c, float[N] d) {
      [t] a = Tan (x) [s] b = Sin (x) [k] c = Cos (x) [s2] d = Sin (x) }"""
    refused = {name: Reason(name) for name in ("t", "s", "k", "s2")}
    assert [each.op for each in direct(write(tmp_path, text), refused).splits] == ["Sin", "Cos", "Tan"]


@pytest.mark.parametrize(
    ("settings", "parts", "left", "dropped"),
    [
        (ProviderSettings(min_nodes=2), [["v", "c", "w"]], ["a", "u1", "b", "u2"], ["a", "b"]),
        (ProviderSettings(exclude=frozenset({"Abs"})), [["a"], ["v", "c", "w"]], ["u1", "b", "u2"], []),
    ],
)
def test_settings_of_a_provider(
    settings: ProviderSettings, parts: list[list[str]], left: list[str], dropped: list[str], tmp_path: Path
) -> None:
    refused = {"u1": NO_SIN, "u2": NO_SIN}
    found = direct(write(tmp_path, SMALL), refused, settings=settings)
    assert [list(part) for part in found.parts] == parts
    assert [each.node for each in found.left] == left
    words = "the region has fewer nodes than the minimum size of a part"
    assert list(found.dropped) == [f"{name}: {words}" for name in dropped]
    excluded = [
        each.node for each in found.left if each.why == "a provider option excludes the operator type"
    ]
    assert excluded == (["b"] if settings.exclude else [])


def test_a_reason_that_ends_the_division(tmp_path: Path) -> None:
    path = write(tmp_path, SMALL)
    found = direct(path, {"u1": Reason("no Sin", ends=True), "v": NO_COS})
    assert (found.parts, [each.node for each in found.left]) == ((), ["a", "u1", "b", "u2", "v", "c", "w"])
    assert [(each.op, each.parts, each.left) for each in found.splits] == [("Cos", 0, 7), ("Sin", 2, 1)]


def test_regions_in_a_cycle_and_joined_regions(tmp_path: Path) -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x) => (float[4] y) {
      [a] p = Relu (x) s = Sin (p) [b] r = Abs (s) t = Sin (r) [c] y = Neg (t) }"""
    refused = {"Sin_1": NO_SIN, "Sin_3": NO_SIN}
    found = direct(write(tmp_path, text), refused, "tensorrt")
    assert (found.parts, found.joined) == ((("a",), ("c",)), False)
    assert found.dropped == ("b: the region is part of a cycle",)
    text = """< ir_version: 8, opset_import: ["" : 17] >
    g (float[4] x) => (float[4] y, float[4] z) { [a] y = Relu (x) [s] q = Sin (y) [b] z = Abs (x) }"""
    found = direct(write(tmp_path, text), {"s": NO_SIN}, "tensorrt")
    assert (found.parts, found.joined, found.dropped) == ((("a", "b"),), True, ())


def test_borders_of_bodies_that_are_divided(tmp_path: Path) -> None:
    path = write(tmp_path, IN_A_BODY)
    found = direct(path, {"branch/then_branch/n1": NO_SIN}, "tensorrt")
    assert found == Partition(
        "tensorrt",
        "predicted",
        (("a",),),
        (
            RemainingNode("branch/then_branch/n1", "Unique", "no Sin", ("BLD1", "BLD2")),
            RemainingNode("branch/else_branch/n2", "Neg"),
            RemainingNode("branch/else_branch/n3", "Abs"),
            RemainingNode("branch", "If"),
        ),
        borders=(Border("p", 16),),
        splits=(
            Split("Unique", ("branch/then_branch/n1",), ("BLD1", "BLD2"), "no Sin", ("a-fix",), 1, 0, 16),
        ),
    )
    whole = direct(path, {}, "tensorrt")
    assert [sorted(part) for part in whole.parts] == [
        ["a", "branch", "branch/else_branch/n2", "branch/else_branch/n3", "branch/then_branch/n1"]
    ]
