"""Tests of the network of NVIDIA's parser against ONNX's results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.dependencies import RECENT_RUNTIME
from tests.dry_build.rtx import NEEDS_WHEELS
from tests.network import texts
from trtlint.dry_build.agreement import Agreement, ComputationFailure
from trtlint.dry_build.wheels import Wheels, find
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.network import compare
from trtlint.network.compare import CompareRequest, _agreement, compare_network, request_of
from trtlint.process import Cause
from trtlint.process.spawn import Limits, ProcessResult

WHEELS = Wheels("1.7.1", "/wheels")
_MEMORY = "the comparison needs more than 2 GB; raise the limit with --dry-build-memory"


def compared(model: Path, *inputs: str) -> Agreement:
    """Compare a model with the installed parser's network."""
    return compare_network(model, request_of(inputs), find(), Limits(60, 4 << 30))


@NEEDS_WHEELS
@pytest.mark.parametrize("family", texts.AGREE)
def test_each_family_of_layers_is_computed_as_onnx_says(family: str, tmp_path: Path) -> None:
    found = compared(texts.write(tmp_path, texts.AGREE[family]))
    assert (found.reason, found.differences, found.unclear, found.outcome) == ("", (), (), "agrees")
    assert found.uncomputed == 0, found.reasons
    assert found.compared + found.unnamed == found.tensors


@NEEDS_WHEELS
@pytest.mark.parametrize(
    ("node", "inputs", "weights"),
    [
        (
            helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 0, 0], strides=[2, 1], group=2),
            {"x": [1, 4, 7, 6]},
            {"w": [6, 2, 3, 3], "b": [6]},
        ),
        (
            helper.make_node("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER"),
            {"x": [1, 2, 8]},
            {"w": [3, 2, 4]},
        ),
        (
            helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1]),
            {"x": [1, 3, 4, 4]},
            {"w": [3, 2, 4, 4]},
        ),
        (
            helper.make_node(
                "LSTM", ["x", "w", "r", "b"], ["y", "h", "c"], hidden_size=4, direction="bidirectional"
            ),
            {"x": [5, 2, 3]},
            {"w": [2, 16, 3], "r": [2, 16, 4], "b": [2, 32]},
        ),
        (
            helper.make_node("GRU", ["x", "w", "r"], ["y"], hidden_size=4),
            {"x": [5, 2, 3]},
            {"w": [1, 12, 3], "r": [1, 12, 4]},
        ),
        (
            helper.make_node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2),
            {"x": [1, 4, 3, 3]},
            {"s": [2], "b": [2]},
        ),
    ],
    ids=lambda each: each.op_type if isinstance(each, onnx.NodeProto) else "",
)  # fmt: skip
def test_operators_with_weights_are_computed_as_onnx_says(
    node: onnx.NodeProto, inputs: dict[str, list[int]], weights: dict[str, list[int]], tmp_path: Path
) -> None:
    found = compared(texts.with_weights(tmp_path, node, inputs, weights))
    assert (found.reason, found.differences, found.outcome) == ("", (), "agrees")


@NEEDS_WHEELS
@pytest.mark.parametrize(
    "op", [pytest.param(op, marks=[RECENT_RUNTIME] if op == "ReduceL1" else []) for op in texts.DIFFER]
)
def test_what_the_parser_imports_wrongly_is_named(op: str, tmp_path: Path) -> None:
    tensor, text = texts.DIFFER[op]
    found = compared(texts.write(tmp_path, text))
    assert [(each.op, each.tensor) for each in found.differences] == [(op, tensor)]
    (first,) = found.differences
    assert first.oracles == "both"
    assert first.got != first.expected


@NEEDS_WHEELS
def test_probes_reach_values_that_random_inputs_do_not(tmp_path: Path) -> None:
    model = texts.write(tmp_path, texts.AGREE["one_hot"])
    assert compared(model).outcome == "agrees"
    found = compared(model, "probe")
    assert [each.op for each in found.differences] == ["OneHot"]
    assert found.differences[0].inputs == "negative whole numbers"


@NEEDS_WHEELS
def test_inputs_of_the_user_count(tmp_path: Path) -> None:
    model = texts.write(tmp_path, texts.AGREE["one_hot"])
    folder = tmp_path / "inputs"
    folder.mkdir()
    np.savez(folder / "good.npz", x=np.array([0, 1, 2]))
    assert compared(model, str(folder)).outcome == "agrees"
    np.savez(folder / "negative.npz", x=np.array([0, -1, 2]))
    found = compared(model, str(folder))
    assert (found.sets, found.inputs, found.outcome) == (2, "given", "differs")
    assert found.differences[0].inputs == f"{folder / 'negative.npz'} (2)"


@NEEDS_WHEELS
def test_inputs_that_do_not_fit_are_an_error(tmp_path: Path) -> None:
    model = texts.write(tmp_path, texts.AGREE["one_hot"])
    np.savez(tmp_path / "other.npz", z=np.array([0]))
    message = r"other\.npz: no input 'x'; the file has arrays that are not inputs: 'z'"
    with pytest.raises(InputsError, match=message):
        compared(model, str(tmp_path / "other.npz"))


@NEEDS_WHEELS
def test_memory_that_is_short_is_the_reason(tmp_path: Path) -> None:
    text = """g (float[1] x) => (float[y0,y1,y2] y) { s = Constant <value = int64[3] {4096, 4096, 512}>()
        e = Expand(x, s) y = Exp(e) }"""
    found = compare_network(texts.write(tmp_path, text), CompareRequest(), find(), Limits(60, 3 << 30))
    assert found.outcome == "not-compared"
    assert found.reason == "the comparison needs more than 3 GB; raise the limit with --dry-build-memory"


@NEEDS_WHEELS
def test_inputs_that_fail_late_leave_nothing(tmp_path: Path) -> None:
    text = f"""g (float[n] x, float[3] z) => (float[a,b] t, float[3] y) {{ s = Unsqueeze(x, axis) t = Trilu(s)
        {" ".join(f"e{at} = Neg({f'e{at - 1}' if at else 'x'})" for at in range(40))} y = Add(e39, z) }}"""
    text = text.replace("{ s =", "{ axis = Constant <value = int64[1] {0}>() s =")
    model = texts.write(tmp_path, text)
    for name, size in (("good", 3), ("bad", 5)):
        np.savez(tmp_path / f"{name}.npz", x=np.arange(size, dtype=np.float32), z=np.ones(3, np.float32))
    assert [each.tensor for each in compared(model, str(tmp_path / "good.npz")).differences] == ["t"]
    found = compared(model, str(tmp_path / "bad.npz"))
    assert (found.compared, found.differences) == (0, ())
    assert f"ONNX Runtime cannot run the model on {tmp_path / 'bad.npz'}" in found.reason


@pytest.mark.parametrize(
    ("values", "files", "probe", "kind"),
    [
        ((), (), False, "made"),
        (("",), (), False, "made"),
        (("probe",), (), True, "probe"),
        (("", "probe", "probe"), (), True, "probe"),
        (("b.npz",), ("b.npz",), False, "given"),
        (("b.npz", "", "sets"), ("b.npz", "sets/a.npz", "sets/c.npz"), False, "given"),
    ],
)
def test_values_of_the_option(
    values: tuple[str, ...],
    files: tuple[str, ...],
    probe: bool,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sets").mkdir()
    for name in ("b.npz", "sets/c.npz", "sets/a.npz"):
        np.savez(name, x=np.ones(2))
    shapes = (("x", (1, 2)),)
    found = request_of(values, shapes)
    assert (found, found.kind) == (CompareRequest(files, probe, shapes), kind)
    assert request_of(values) == CompareRequest(files, probe)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            ("probe", "x.npz"),
            "probe generates inputs, but input files are given as well; omit one of the two",
        ),
        (("text.npz",), "text.npz: not an .npz file of arrays"),
        (("none.npz",), "none.npz: No such file or directory"),
        (("text.npz",) * 1024, "text.npz: not an .npz file of arrays"),
        (("text.npz",) * 1025, "a comparison takes at most 1024 files with inputs"),
    ],
)
def test_values_that_cannot_be_used(
    values: tuple[str, ...], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.npz").write_text("text", "utf-8")
    with pytest.raises(InputsError) as refused:
        request_of(values)
    assert str(refused.value) == reason


@pytest.mark.parametrize(
    ("cause", "answers", "reason"),
    [
        ("done", ({"done": 0.5}, {"reason": "a reason"}), "a reason"),
        ("done", ({"memory": True},), _MEMORY),
        ("memory", (), _MEMORY),
        ("time", (), "the comparison needs more than 60 s; raise the limit with --dry-build-seconds"),
        ("crashed", ({"done": 0.5},), "the process crashed (SIGSEGV)"),
    ],
)
def test_a_process_without_a_result(cause: Cause, answers: tuple[Any, ...], reason: str) -> None:
    ended = ProcessResult(cause, None, "SIGSEGV", 1.5, 7, answers)
    found = _agreement(ended, CompareRequest(probe=True), Inputs(()), WHEELS, Limits(60, 2 << 30))
    assert found == Agreement("1.7.1", reason=reason, inputs="probe", peak=7, seconds=1.5)


def answered(
    monkeypatch: pytest.MonkeyPatch, *answers: Any, request: CompareRequest, listen: Any = None
) -> tuple[Agreement, list[Any]]:
    """Return the result of a process with these answers, and its request."""
    asked: list[Any] = []

    def run(module: str, document: Any, limits: Limits, **more: Any) -> ProcessResult:
        asked.extend((module, document, limits, more["paths"], more["environment"], more["log"].name))
        for answer in answers:
            more["listen"](answer)
        return ProcessResult("done", 0, "", 1.5, 7, answers)

    monkeypatch.setattr(compare, "run", run)
    found = compare_network(Path("m.onnx"), request, WHEELS, Limits(60, 2 << 30), listen)
    return found, asked


def test_a_process_compares_a_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    shares: list[float] = []
    answers = ({"done": 0.25}, {"other": 1}, {"done": 1}, {"agreement": {"tensors": 2, "seconds": 0.5}})
    request = CompareRequest(("x.npz",), probe=True, shapes=(("x", (1, 2)),))
    found, asked = answered(monkeypatch, *answers, request=request, listen=shares.append)
    assert found == Agreement("1.7.1", tensors=2, inputs="given", seconds=0.5, peak=7)
    document = {
        "model": str(tmp_path / "m.onnx"),
        "files": (str(tmp_path / "x.npz"),),
        "lists": (),
        "script": None,
        "probe": True,
        "shapes": {"x": (1, 2)},
    }
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    assert asked == ["trtlint.network.child", document, Limits(60, 2 << 30), ("/wheels",), hidden, "log"]
    assert shares == [0.25, 1.0]
    assert answered(monkeypatch, *answers, request=request)[0] == found


def test_the_last_answer_of_a_process_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    request = CompareRequest(("x.npz",))
    answers = ({"agreement": {"tensors": 2}}, {"reason": f"cannot read {tmp_path / 'x.npz'}"})
    found, _ = answered(monkeypatch, *answers, request=request)
    assert found == Agreement("1.7.1", reason="cannot read x.npz", inputs="given", seconds=1.5, peak=7)
    with pytest.raises(InputsError, match=r"^x\.npz has no input 'y'$"):
        answered(monkeypatch, {"inputs": f"{tmp_path / 'x.npz'} has no input 'y'"}, request=request)


def test_a_comparison_needs_onnx_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "find_spec", lambda _: None)
    found = compare_network(Path("m.onnx"), CompareRequest(), WHEELS, Limits(60, 2 << 30))
    assert found == Agreement("1.7.1", reason=found.reason)
    assert found.reason.startswith("a comparison needs ONNX Runtime: pip install ")


def test_a_folder_without_inputs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputsError, match=r"the folder has no \.npz file"):
        request_of((str(tmp_path),))


@NEEDS_WHEELS
def test_random_numbers_are_not_compared(tmp_path: Path) -> None:
    text = "g (float[64] x) => (float[64] y) { r = RandomNormalLike(x) s = Add(x, r) y = Relu(s) }"
    found = compared(texts.write(tmp_path, text))
    assert (found.compared, found.uncomputed, found.outcome) == (2, 1, "agrees")
    assert found.reasons == (ComputationFailure("random numbers", 1),)


@NEEDS_WHEELS
def test_documented_deviations_are_no_differences(tmp_path: Path) -> None:
    text = """g (float[3] x) => (float[3] y) {
        a = Constant <value = float {2.0}>() b = Constant <value = float {1.0}>() y = Clip(x, a, b) }"""
    found = compared(texts.write(tmp_path, text))
    assert (found.differences, found.deviations) == ((), ("a Clip whose minimum is above its maximum",))


@NEEDS_WHEELS
def test_a_difference_does_not_hide_or_cause_another(tmp_path: Path) -> None:
    text = """g (float[3,3] x) => (float[3,3] y) {
        a = Trilu(x) b = Add(a, x) c = Trilu(b) d = Exp(c) y = Relu(d) }"""
    found = compared(texts.write(tmp_path, text))
    assert [each.tensor for each in found.differences] == ["a", "c"]
    assert found.compared == 5


@NEEDS_WHEELS
def test_a_model_that_the_parser_refuses_is_not_compared(tmp_path: Path) -> None:
    found = compared(texts.write(tmp_path, "g (float[3] x) => (float[k] y) { y = Unique(x) }"))
    assert (found.outcome, found.reason) == ("not-compared", "the parser refuses the model")


@NEEDS_WHEELS
def test_external_weights_are_read(tmp_path: Path) -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    path = texts.with_weights(tmp_path, node, {"x": [4, 64]}, {"w": [64, 64]})
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert compared(path).outcome == "agrees"


@NEEDS_WHEELS
def test_shapes_of_the_user_count(tmp_path: Path) -> None:
    model = texts.write(
        tmp_path,
        "g (float[a,3] x) => (float[b,3] y) { s = Constant <value = int64[2] {7, 3}>() y = Reshape(x, s) }",
    )
    found = compare_network(model, CompareRequest(shapes=(("x", (7, 3)),)), find(), Limits(60, 4 << 30))
    assert found.outcome == "agrees"


_EARLY = """g (float[2] x, float h) => (float[2] y, float[N,2] z)
    <int64 n = {5}, bool t = {1}, int64 none = {0},
    int64[1] begin = {0}, int64[1] single = {1}> {
    y, count, all = Loop (n, t, x, none) <body = b (int64 i, bool go, float[2] v, int64 k) =>
        (bool again, float[2] w, int64 l, float[2] s) { w = Add (v, v) m = ReduceMax <keepdims = 0> (w)
      again = Less (m, h) s = Neg (w) one = Constant <value = int64 {1}> () l = Add (k, one) }>
    END }"""


@NEEDS_WHEELS
@pytest.mark.parametrize(
    ("end", "differ", "deviations"),
    [
        ("z = Exp (all)", ["all", "z"], ()),
        (
            "end = Reshape (count, single) z = Slice (all, begin, end, begin)",
            [],
            ("extra rows at the end of a Loop output, which a Slice removes",),
        ),
    ],
    ids=["read", "cut"],
)
def test_a_loop_that_ends_early(
    end: str, differ: list[str], deviations: tuple[str, ...], tmp_path: Path
) -> None:
    model = texts.write(tmp_path, _EARLY.replace("END", end))
    np.savez(tmp_path / "early.npz", x=np.ones(2, np.float32), h=np.asarray(3, np.float32))
    found = compared(model, str(tmp_path / "early.npz"))
    assert [each.tensor for each in found.differences][:1] == differ[:1]
    assert (bool(found.differences), found.unclear, found.deviations) == (bool(differ), (), deviations)
