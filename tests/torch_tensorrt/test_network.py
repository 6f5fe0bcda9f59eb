"""Tests of facts about Torch-TensorRT networks: recorded, and real where the wheels exist."""

from __future__ import annotations

import base64
import json
import os
import struct
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import helper

from trtlint.engine.evaluate import evaluate
from trtlint.engine.evidence.torch import TorchProgramEvidence
from trtlint.engine.rulebook import load_builtin, looking_at
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.attention import Attention
from trtlint.facts.of_model.constant import Constant
from trtlint.facts.of_model.convolution import Convolution
from trtlint.facts.of_model.normalization import Normalization
from trtlint.target.target import Target
from trtlint.torch_tensorrt.asking import TorchRequest, ask
from trtlint.torch_tensorrt.network import _Engine, _SharedState, network_model
from trtlint.torch_tensorrt.options import run_options
from trtlint.torch_tensorrt.program import Program
from trtlint.torch_tensorrt.result import DryRun

PYTHON = os.environ.get("TRTLINT_TORCH_PYTHON", "")
WHEELS = os.environ.get("TRTLINT_TORCH_WHEELS", "")
needs_torch = pytest.mark.skipif(not PYTHON or not WHEELS, reason="needs torch and Torch-TensorRT's wheels")
RECORDED = Path(__file__).with_name("networks")


def facts_of(run: DryRun, release: str) -> Facts:
    """Return the facts of a program after a successful dry run."""
    return Facts(None, evidence=(TorchProgramEvidence(Program("m.pt2", release, "", (), run)),))


def recorded(name: str, release: str) -> Facts:
    """Return the facts of a recorded network."""
    graphs = json.loads((RECORDED / f"{name}_{release}.json").read_text())
    return facts_of(DryRun(graphs=tuple(graphs)), release)


def rules_at(facts: Facts, target: Target) -> Mapping[str, Any]:
    """Return the findings for a target by rule."""
    rules = looking_at(facts.grounds, load_builtin().entries)
    return {
        finding.rule: finding for finding in evaluate((each.read() for each in rules), facts, target).findings
    }


def test_a_scale_on_both_operands_is_found_in_the_network() -> None:
    facts = recorded("split_scale", "2.6.1")
    (found,) = facts.of("attention")
    assert isinstance(found, Attention)
    assert (found.scale.placement, found.scale.product, found.head_size) == ("both", 0.25, 16)
    assert (found.qkv.kind, found.qkv.all_three, found.dtype) == ("slices", True, "f32")


def test_the_rule_names_the_source_line_and_no_rewrite() -> None:
    finding = rules_at(recorded("split_scale", "2.6.1"), Target(version="10.7"))["ACC102"]
    (site,) = finding.sites
    assert str(site.source) == "net/attention.py:10 in forward"
    assert finding.fixes == ()
    assert "ACC102" not in rules_at(recorded("split_scale", "2.6.1"), Target(version="10.9"))


def test_a_norm_in_half_precision_is_found_in_the_network() -> None:
    facts = recorded("rms_norm", "2.14.0")
    (norm,) = facts.of("normalization")
    assert isinstance(norm, Normalization)
    assert (norm.family, norm.form, norm.statistics_dtype, norm.last_axis) == (
        "rms",
        "decomposed",
        "f16",
        True,
    )
    advice = rules_at(facts, Target(version="11.1"))["ACC101"].advice
    assert all("opset" not in line for line in advice)


def test_rules_about_onnx_files_do_not_see_a_network() -> None:
    facts = recorded("split_scale", "2.6.1")
    entries = looking_at(facts.grounds, load_builtin().entries)
    assert {"ACC101", "ACC102", "ACC104", "ACC107"} <= {entry.id for entry in entries}
    assert not {"PERF103", "PORT101", "ACC165"} & {entry.id for entry in entries}
    assert not any(facts.has(kind) for kind in ("node", "model", "rejection"))


@pytest.mark.parametrize(
    "damaged",
    [
        [None],
        [{}],
        [{"tensors": [], "inputs": [3], "outputs": [], "layers": [], "nodes": [], "traces": []}],
        [{"tensors": [["x", "FLOAT", "?"]], "inputs": [0], "outputs": [], "layers": [], "nodes": []}],
        [{"tensors": [], "inputs": [], "outputs": [], "layers": [{"kind": "SHUFFLE"}]}],
        [{"tensors": [], "inputs": [], "outputs": [], "layers": 7}],
    ],
)
def test_a_damaged_network_has_no_facts(damaged: Any) -> None:
    assert network_model(damaged, Path("m.pt2")) is None
    assert not facts_of(DryRun(graphs=tuple(damaged)), "2.14.0").has("attention")


def layer(kind: str, inputs: Sequence[int | None], outputs: list[int], **settings: Any) -> dict[str, Any]:
    """Return a layer of a network."""
    return {
        "kind": kind, "name": f"[{kind}]-[aten_ops.op]-[net/{kind.lower()}]", "inputs": inputs,
        "outputs": outputs, "settings": settings, "node": -1,
    }  # fmt: skip


def network(tensors: list[tuple[str, list[int]]], layers: list[dict[str, Any]], **ends: list[int]) -> Any:
    """Return a network of tensors, given by type and shape."""
    named = [[f"t{index}", dtype, shape] for index, (dtype, shape) in enumerate(tensors)]
    return {"tensors": named, "layers": layers, "nodes": [], "traces": [], **ends}


def test_sizes_that_no_tensor_has() -> None:
    still = [0, 1]
    huge = layer("SHUFFLE", [0], [1], first_transpose=still, reshape_dims=[1 << 80], second_transpose=still)
    made = network([("FLOAT", [2, 2]), ("FLOAT", [1 << 80])], [huge], inputs=[0], outputs=[1])
    assert network_model([made], Path("m.pt2")) is None


def test_unpacked_constants_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.torch_tensorrt.network._MOST_VALUES_IN_ALL", 1000)
    zeros = base64.b64encode(zlib.compress(bytes(800))).decode()
    constants = [layer("CONSTANT", [], [index], shape=[200], data=zeros) for index in range(3)]
    made = network([("FLOAT", [200])] * 3, constants, inputs=[], outputs=[0])
    model = network_model([made], Path("m.pt2"))
    assert model is not None
    values = [value for each in model.graph.values.values() for value in each]
    assert [model.constants.payload(value) is not None for value in values] == [True, True, False]


def test_engines_are_one_graph_with_names_of_their_own() -> None:
    engine = network(
        [("FLOAT", [1, 4]), ("FLOAT", [1, 4])], [layer("UNARY", [0], [1], op="EXP")], inputs=[0], outputs=[1]
    )
    model = network_model([engine, engine], Path("m.pt2"))
    assert model is not None
    assert [(node.op, node.inputs[0].name) for node in model.graph.nodes if node.inputs[0]] == [
        ("Exp", "t0"), ("Exp", "t0#2"),
    ]  # fmt: skip


def test_a_constant_that_is_repeated_for_a_clip_keeps_its_value() -> None:
    ones = base64.b64encode(zlib.compress(struct.pack("<f", 1.0))).decode()
    tensors = [
        ("FLOAT", [1, 3, 64, 64]), ("FLOAT", [1, 8, 64, 64]), ("FLOAT", []), ("FLOAT", [1, 1, 1, 1]),
        ("FLOAT", [1, 8, 64, 64]), ("FLOAT", [1, 8, 64, 64]),
    ]  # fmt: skip
    still = [0, 1, 2, 3, 4, 5, 6, 7]
    made = network(
        tensors,
        [
            layer("CONVOLUTION", [0], [1], num_output_maps=8, kernel_size_nd=[3, 3], kernel=216, bias=8),
            layer("CONSTANT", [], [2], shape=[], data=ones),
            layer("SHUFFLE", [2], [3], first_transpose=still, reshape_dims=[1] * 4, second_transpose=still),
            layer("SLICE", [3], [4], start=[0] * 4, shape=[1, 8, 64, 64], stride=[0] * 4, mode="DEFAULT"),
            layer("ELEMENTWISE", [1, 4], [5], op="MIN"),
        ],
        inputs=[0],
        outputs=[5],
    )
    (found,) = facts_of(DryRun(graphs=(made,)), "2.14.0").of("convolution")
    assert isinstance(found, Convolution)
    assert found.weight.source == "initializer"
    assert found.weight.shape == (8, 3, 3, 3)
    assert found.activation is not None
    assert (found.activation.op, found.activation.high) == ("Min", 1.0)


def shape_of(info: onnx.ValueInfoProto) -> str:
    """Return the name, element type and sizes of a value; ``?`` is a dynamic size."""
    form = info.type.tensor_type
    if not form.HasField("shape"):
        return f"{info.name} {form.elem_type} unknown"
    sizes = ",".join(str(each.dim_value) if each.HasField("dim_value") else "?" for each in form.shape.dim)
    return f"{info.name} {form.elem_type} [{sizes}]"


def written(*graphs: Any) -> dict[str, list[str]]:
    """Return the whole graph of networks, as lines."""
    made, shared = onnx.GraphProto(), _SharedState()
    for graph in graphs:
        _Engine(graph, made, shared).add()
    stored = [
        f"{each.name} {each.data_type} {list(each.dims)} {list(each.raw_data)} {each.data_location}"
        for each in made.initializer
    ]
    nodes = [
        " ".join(
            [
                f"{','.join(node.output)} = {node.domain}{node.op_type}({','.join(node.input)})",
                *(f"{each.name}={helper.get_attribute_value(each)}" for each in node.attribute),
            ]
        )
        for node in made.node
    ]
    found = {
        "inputs": [shape_of(each) for each in made.input],
        "nodes": nodes,
        "stored": stored,
        "shapes": [shape_of(each) for each in made.value_info],
        "outputs": [shape_of(each) for each in made.output],
    }
    return {name: lines for name, lines in found.items() if lines}


STILL = [0, 1, 2, 3, 4, 5, 6, 7]


def test_inputs_outputs_and_types() -> None:
    tensors: list[tuple[str, Any]] = [("HALF", [-1, 0]), ("OTHER", None)]
    nms = layer("NMS", [0, None], [1])
    assert written(network(tensors, [nms], inputs=[0], outputs=[1])) == {
        "inputs": ["t0 10 [?,0]"],
        "nodes": ["t1 = tensorrtNMS(t0,)"],
        "shapes": ["t1 0 unknown"],
        "outputs": ["t1 0 unknown"],
    }


def test_transposed_operands_of_a_product() -> None:
    tensors = [("FLOAT", [5, 4, 2]), ("HALF", [5, 3, 4]), ("FLOAT", [5, 2, 3])]
    product = layer("MATRIX_MULTIPLY", [0, 1], [2], op0="TRANSPOSE", op1="TRANSPOSE")
    assert written(network(tensors, [product], inputs=[0, 1], outputs=[2])) == {
        "inputs": ["t0 1 [5,4,2]", "t1 10 [5,3,4]"],
        "nodes": [
            "t0_ = Transpose(t0) perm=[0, 2, 1]",
            "t1_ = Transpose(t1) perm=[0, 2, 1]",
            "t2 = MatMul(t0_,t1_)",
        ],
        "shapes": ["t0_ 1 [5,2,4]", "t1_ 10 [5,4,3]", "t2 1 [5,2,3]"],
        "outputs": ["t2 1 [5,2,3]"],
    }


def test_one_transposed_operand() -> None:
    tensors = [("FLOAT", [2, 4]), ("FLOAT", [3, 4]), ("FLOAT", [2, 3])]
    product = layer("MATRIX_MULTIPLY", [0, 1], [2], op0="NONE", op1="TRANSPOSE")
    found = written(network(tensors, [product], inputs=[0, 1], outputs=[2]))
    assert found["nodes"] == ["t1_ = Transpose(t1) perm=[1, 0]", "t2 = MatMul(t0,t1_)"]


def test_the_operators_of_a_layer_follow_each_other() -> None:
    tensors = [("HALF", [2, 3]), ("HALF", [3, 2]), ("INT64", [2]), ("HALF", [3, 2])]
    still = {"first_transpose": [1, 0, *STILL[2:]], "second_transpose": STILL}
    layers = [layer("SHUFFLE", [0, 2], [3], **still), layer("SCALE", [3], [1], scale=2, shift=1)]
    assert written(network(tensors, layers, inputs=[0, 2], outputs=[1])) == {
        "inputs": ["t0 10 [2,3]", "t2 7 [2]"],
        "nodes": [
            "t0_ = Transpose(t0) perm=[1, 0]",
            "t3 = Reshape(t0_,t2)",
            "t3_ = Mul(t3,net/scale/constant)",
            "t1 = Add(t3_,net/scale/constant#2)",
        ],
        "stored": ["net/scale/constant 10 [1, 2] [] 1", "net/scale/constant#2 10 [1, 1] [] 1"],
        "shapes": ["t0_ 10 [3,2]", "t3 10 [3,2]", "t3_ 10 [3,2]", "t1 10 [3,2]"],
        "outputs": ["t1 10 [3,2]"],
    }


def test_the_mask_of_attention_is_its_last_input() -> None:
    tensors = [("HALF", [2, 4])] * 5
    settings = {"causal": False, "mask": 3}
    found = written(
        network(tensors, [layer("ATTENTION_INPUT", [0, 1, 2], [4], **settings)], inputs=[], outputs=[])
    )
    assert found["nodes"] == ["t4 = Attention(t0,t1,t2,t3) is_causal=0 scale=1.0"]


def test_a_layer_with_several_outputs() -> None:
    tensors = [("FLOAT", [4])] * 3
    assert written(network(tensors, [layer("SPLIT", [0], [1, 2])], inputs=[], outputs=[])) == {
        "nodes": ["t1,t2 = tensorrtSPLIT(t0)"],
        "shapes": ["t1 1 [4]", "t2 1 [4]"],
    }


def test_a_layer_without_inputs_and_one_without_outputs() -> None:
    layers = [layer("FILL", [], [0]), layer("ASSERTION", [0], [])]
    made = network([("FLOAT", [4])], layers, inputs=[], outputs=[])
    assert network_model([made], Path("m.pt2")) is not None
    assert written(made) == {
        "nodes": ["t0 = tensorrtFILL()", " = tensorrtASSERTION(t0)"],
        "shapes": ["t0 1 [4]"],
    }


def packed(data: bytes) -> str:
    """Return the values of a constant in their transfer format."""
    return base64.b64encode(zlib.compress(data)).decode()


def test_a_reshape_of_a_constant_is_a_constant() -> None:
    tensors = [("UINT8", [2]), ("UINT8", [2, 1]), ("INT64", [2]), ("UINT8", [1, 2])]
    still = {"first_transpose": STILL, "second_transpose": STILL}
    layers = [
        layer("CONSTANT", [], [0], data=packed(b"\7\10")),
        layer("SHUFFLE", [0], [1], **still),
        layer("SHUFFLE", [0, 2], [3], **still),
    ]
    assert written(network(tensors, layers, inputs=[2], outputs=[])) == {
        "inputs": ["t2 7 [2]"],
        "nodes": ["t3 = Reshape(t0,t2)"],
        "stored": ["t0 2 [2] [7, 8] 0", "t1 2 [2, 1] [7, 8] 0"],
        "shapes": ["t3 2 [1,2]"],
    }


def test_a_reshape_of_another_tensor_is_an_operator() -> None:
    still = {"first_transpose": STILL, "second_transpose": STILL}
    layers = [layer("SHUFFLE", [0], [1], **still)]
    found = written(network([("FLOAT", [2]), ("FLOAT", [2, 1])], layers, inputs=[0], outputs=[]))
    assert found["nodes"] == ["t1 = Reshape(t0,net/shuffle/constant)"]


REPEAT = layer("SLICE", [0], [1], start=[0, 0], shape=[3, 4], stride=[1, 0], mode="DEFAULT")
"""Repeats the second axis."""
REPEATED = [("UINT8", [3, 1]), ("UINT8", [3, 4]), ("UINT8", [3, 4])]


def test_a_repetition_for_an_elementwise_layer_is_left_out() -> None:
    layers = [REPEAT, layer("ELEMENTWISE", [1, 2], [2], op="SUM")]
    assert written(network(REPEATED, layers, inputs=[0], outputs=[])) == {
        "inputs": ["t0 2 [3,1]"],
        "nodes": ["t1 = Identity(t0)", "t2 = Add(t1,t2)"],
        "shapes": ["t1 2 [3,1]", "t2 2 [3,4]"],
    }


def test_a_repetition_of_a_constant_for_an_elementwise_layer_is_left_out() -> None:
    constant = layer("CONSTANT", [], [0], data=packed(b"\1\2\3"))
    layers = [constant, REPEAT, layer("ELEMENTWISE", [1, 2], [2], op="SUM")]
    assert written(network(REPEATED, layers, inputs=[], outputs=[])) == {
        "nodes": ["t2 = Add(t1,t2)"],
        "stored": ["t0 2 [3, 1] [1, 2, 3] 0", "t1 2 [3, 1] [1, 2, 3] 0"],
        "shapes": ["t2 2 [3,4]"],
    }


@pytest.mark.parametrize("more", [[], [layer("ELEMENTWISE", [1, 2], [2], op="SUM"), layer("TOPK", [1], [2])]])
def test_a_repetition_for_other_layers_is_an_operator(more: list[Any]) -> None:
    found = written(network(REPEATED, [REPEAT, *more], inputs=[0], outputs=[]))
    assert found["nodes"][0] == "t1 = Expand(t0,net/slice/constant)"
    assert found["shapes"][0] == "t1 2 [3,4]"


def test_names_are_different() -> None:
    shared = _SharedState()
    names = [shared.new(name) for name in ("a", "a", "", "a", "", "a#2")]
    assert names == ["a", "a#2", "tensor", "a#3", "tensor#2", "a#2#2"]


def test_values_of_a_constant_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.torch_tensorrt.network.MOST_VALUES", 10)
    monkeypatch.setattr("trtlint.torch_tensorrt.network._MOST_VALUES_IN_ALL", 15)
    shared = _SharedState()
    assert [shared.unpacked(None), shared.unpacked(7)] == [None, None]
    found = [shared.unpacked(packed(bytes(size))) for size in (11, 4, 1, 1)]
    assert found == [bytes(10), bytes(4), bytes(1), None]


def test_modules_and_source_lines_of_layers() -> None:
    layers = [
        {**layer("UNARY", [0], [1], op="EXP"), "name": name, "node": position}
        for name, position in (
            ("[UNARY]-[aten_ops.exp]-[a.b/exp]", 1), ("[UNARY]-[aten_ops.exp]-[exp]", 1), ("exp", 0),
            ("net/exp", -1), ("exp", -1), ("[a]-[b]-[c/d", -1), ("a/b/c]", -1),
        )
    ]  # fmt: skip
    graph = network([("FLOAT", [4])] * 2, layers, inputs=[], outputs=[])
    graph["nodes"] = [{"module": "", "trace": 1}, {"module": "net.own", "trace": 0}]
    graph["traces"] = ["first", "second"]
    made = onnx.GraphProto()
    _Engine(graph, made, _SharedState()).add()
    trace, scope = "pkg.torch.onnx.stack_trace", "pkg.torch.onnx.name_scopes"
    assert [(node.name, {each.key: each.value for each in node.metadata_props}) for node in made.node] == [
        ("a.b/exp", {trace: "first", scope: "['', 'a.b', 'node']"}),
        ("exp", {trace: "first", scope: "['', 'net.own', 'node']"}),
        ("exp", {trace: "second"}),
        ("net/exp", {scope: "['', 'net', 'node']"}),
        ("exp", {}),
        ("[a]-[b]-[c/d", {scope: "['', '[a]-[b]-[c', 'node']"}),
        ("a/b/c]", {scope: "['', 'a/b', 'node']"}),
    ]


def test_the_model_of_networks() -> None:
    model = network_model([network([("FLOAT", [4])], [], inputs=[0], outputs=[0])], Path("m.pt2"))
    assert model is not None
    assert (model.path, model.opsets, model.ir_version, model.producer, model.metadata, model.declared) == (
        Path("m.pt2"), {"": 24}, onnx.IR_VERSION, "Torch-TensorRT", {}, {},
    )  # fmt: skip


PROGRAMS = """
import torch
nn, F = torch.nn, torch.nn.functional
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
        mask = torch.triu(torch.full((16, 16), torch.finfo(torch.float32).min), 1)
        self.register_buffer("mask", mask)
    def forward(self, x):
        q, k, v = self.qkv(x).view(2, 16, 3, 4, 16).permute(2, 0, 3, 1, 4).unbind(0)
        return self.out(self.attend(q, k, v).transpose(1, 2).reshape(2, 16, 64))
class Split(Attention):
    def attend(self, q, k, v):
        return ((q * 0.5) @ (k * 0.5).transpose(-2, -1)).softmax(-1) @ v
class Masked(Attention):
    def attend(self, q, k, v):
        return ((q * 0.25) @ k.transpose(-2, -1) + self.mask).softmax(-1) @ v
class Fused(Attention):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 64), nn.Linear(64, 64)
    def forward(self, x):
        x = self.a(x)
        return self.b(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 3, 3, padding=1)
    def forward(self, x):
        return self.b(F.relu6(self.a(x))).clamp(0, 1)
x = torch.randn(2, 16, 64)
for name, module, inputs in (
    ("split", Split(), x), ("masked", Masked(), x), ("fused", Fused(), x),
    ("norm", Norm().half(), x.half()), ("clip", Clip(), torch.randn(1, 3, 64, 64)),
):
    torch.export.save(torch.export.export(module.eval(), (inputs,)), f"{name}.pt2")
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with five programs."""
    folder = tmp_path_factory.mktemp("programs")
    subprocess.run([PYTHON, "-c", PROGRAMS], cwd=folder, check=True, timeout=300)
    return folder


def asked(programs: Path, name: str, release: str) -> Facts:
    """Return the facts of a program after a dry run without a build."""
    options = run_options({"min_block_size": 1})
    request = TorchRequest(release, 89, PYTHON, f"{WHEELS}/{release}", options, build=False, trusted=True)
    run = ask(programs / f"{name}.pt2", request)
    assert (run.unasked, run.error) == ("", "")
    return facts_of(run, release)


@needs_torch
@pytest.mark.parametrize(("release", "statistics"), [("2.6.1", "f32"), ("2.14.0", "f16")])
def test_facts_of_real_networks(programs: Path, release: str, statistics: str) -> None:
    """Release 2.6 casts power operands to FP32; a strongly typed network keeps FP16."""
    (split,) = asked(programs, "split", release).of("attention")
    assert isinstance(split, Attention)
    assert (split.scale.placement, split.scale.product) == ("both", 0.25)
    masked = asked(programs, "masked", release)
    (query,) = masked.of("attention")
    assert isinstance(query, Attention)
    assert (query.scale.placement, query.mask.kind) == ("query", "additive")
    masks = [each for each in masked.of("constant") if isinstance(each, Constant) and each.size == 256]
    assert any(each.softmax and each.added and each.values.beyond_fp16 == 120 for each in masks)
    (norm,) = asked(programs, "norm", release).of("normalization")
    assert isinstance(norm, Normalization)
    assert (norm.form, norm.statistics_dtype) == ("decomposed", statistics)
    clips = asked(programs, "clip", release).of("convolution")
    assert [each.activation and (each.activation.low, each.activation.high) for each in clips] == [  # type: ignore[attr-defined]
        (0.0, 6.0), (0.0, 1.0),
    ]  # fmt: skip


@needs_torch
@pytest.mark.parametrize(("release", "form"), [("2.7.0", "matmul"), ("2.14.0", "operator")])
def test_the_converter_of_attention_does_not_split_the_scale(programs: Path, release: str, form: str) -> None:
    (found,) = asked(programs, "fused", release).of("attention")
    assert isinstance(found, Attention)
    assert found.form == form
    assert found.scale.placement != "both"
