"""Tests of module paths and source lines from exporters, and of redacted parts."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.model.wirebytes import model
from trtlint.model.load import Model, load
from trtlint.model.origin import Origin, _module_of_metadata, origin
from trtlint.model.source import Frame, Source

SCOPES = "pkg.torch.onnx.name_scopes"
TRACE = "pkg.torch.onnx.stack_trace"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def of(folder: Path, name: str = "", doc: str = "", **metadata: str) -> Origin:
    """Return the origin of a node with this name, text and metadata."""
    proto = model("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    node = proto.graph.node[0]
    node.name, node.doc_string = name, doc
    for key, value in metadata.items():
        node.metadata_props.add(key={"scopes": SCOPES, "trace": TRACE}.get(key, key), value=value)
    path = folder / "model.onnx"
    onnx.save(proto, path)
    result = load(path)
    return origin(result, result.graph.nodes[0])


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("/blocks.0/attn/MatMul", "blocks.0.attn"),
        ("/blocks/blocks.0/attn/qkv/MatMul", "blocks.0.attn.qkv"),
        ("/layer1/layer1.0/downsample/downsample.0/Conv", "layer1.0.downsample.0"),
        ("/model/layers.0/self_attn/Mul_3", "model.layers.0.self_attn"),
        ("/MatMul_1", None),
        ("Identity_87", None),
        ("model/dense/MatMul", None),
        ("//x", None),
        ("", None),
    ],
)
def test_module_from_a_torchscript_name(elsewhere: Path, name: str, module: str | None) -> None:
    assert of(elsewhere, name) == Origin(module, None, None)


@pytest.mark.parametrize(
    ("scopes", "namespace", "module"),
    [
        ("['', 'blocks', 'blocks.0', 'blocks.0.attn', 'mul_1']", "", "blocks.0.attn"),
        ("['', 'mul']", "", None),
        ("['_empty_nn_module_stack_from_metadata_hook', 'sym_size_int_2']", "", None),
        ("", ": pkg.M/blocks: torch.nn.Sequential/blocks.0: pkg.B/mul: aten.mul.Tensor", "blocks.0"),
        ("", ": pkg.M/mul: aten.mul.Tensor", None),
        ("[1, 'a', ('b',), 'c']", "", "a"),
        ("__import__('os').getcwd()", "", None),
        ("[" * 5000, "", None),
        ("'text'", "", None),
    ],
)
def test_module_from_metadata(elsewhere: Path, scopes: str, namespace: str, module: str | None) -> None:
    found = of(elsewhere, "/other/MatMul", scopes=scopes, namespace=namespace)
    assert found.stable_module == module
    assert found.module == module or module is None


def trace(*frames: tuple[str, int]) -> str:
    return "\n  ".join(f'File "{path}", line {line}, in forward\n    x = f(x)' for path, line in frames)


TORCH = ("/home/alice/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", 134)


def test_frames_from_the_innermost_without_libraries(elsewhere: Path) -> None:
    own = [("/build/agent/train.py", 3), ("/build/agent/net/attention.py", 57)]
    source = of(elsewhere, trace=trace(*own, TORCH, ("<eval_with_key>.1", 7))).source
    assert str(source) == "net/attention.py:57 in forward"
    assert source is not None
    assert not source.found
    assert source.frames == tuple(Frame(path, line, "forward", "x = f(x)") for path, line in reversed(own))


def test_a_frame_without_code(elsewhere: Path) -> None:
    source = of(elsewhere, trace='File "/b/a.py", line 1, in f\n  File "/b/c.py", line 2').source
    assert source is not None
    assert source.frames == (Frame("/b/c.py", 2), Frame("/b/a.py", 1, "f"))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/srv/jobs/export/model/net.py", "model/net.py"),
        ("/home/alice/net.py", "net.py"),
        ("/home/alice/work/net.py", "work/net.py"),
        ("/Users/alice/net.py", "net.py"),
        ("/root/net.py", "net.py"),
        ("C:\\Users\\alice\\net.py", "net.py"),
        ("/srv/../../etc/net.py", "etc/net.py"),
        ("net.py", "net.py"),
    ],
)
def test_paths_are_shortened(elsewhere: Path, path: str, shown: str) -> None:
    assert of(elsewhere, trace=trace((path, 5), TORCH)).source == Source(shown, 5, "forward")


def test_frames_of_libraries_are_no_source(elsewhere: Path) -> None:
    assert of(elsewhere, trace=trace(TORCH, ("torch/fx/passes/runtime_assert.py", 24))).source is None


def test_verbose_torchscript_exports(elsewhere: Path) -> None:
    doc = (
        "/venv/lib/python3.11/site-packages/torch/nn/functional.py(1): softmax\n"
        "/b/repository/net/attention.py(57): forward\n"
        "/b/repository/train.py(3): <module>\n"
    )
    found = of(elsewhere, "/attn/Softmax", doc)
    assert found == Origin("attn", None, Source("net/attention.py", 57, "forward"))
    assert found.source is not None
    assert [(frame.line, frame.code) for frame in found.source.frames] == [(57, ""), (3, "")]


def test_a_body_without_metadata_belongs_to_its_owner(elsewhere: Path) -> None:
    proto = model(
        """g (float[2] x, bool p) => (float[2] z) {
            [branch] z = If (p) <then_branch = t () => (float[2] a) { a = Abs(x) },
                                 else_branch = e () => (float[2] b) { b = Neg(x) }>
        }"""
    )
    proto.graph.node[0].metadata_props.add(key=SCOPES, value="['', 'gate', 'cond']")
    onnx.save(proto, elsewhere / "model.onnx")
    result: Model = load(elsewhere / "model.onnx")
    (node,) = result.graph.by_op("Abs")
    assert origin(result, node).stable_module == "gate"


@pytest.mark.slow
@given(
    parts=st.lists(
        st.sampled_from(["home", "alice", "Users", "..", "net", "a.py", "root", ".", "site-packages"]),
        min_size=1,
        max_size=6,
    ),
    separator=st.sampled_from(["/", "\\"]),
    start=st.sampled_from(["", "/", "C:/"]),
)
@example(parts=["home", "alice", "home", "bob", "a.py"], separator="/", start="/")
@settings(max_examples=100, deadline=None)
def test_nothing_private_is_printed(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], separator: str, start: str
) -> None:
    path = (start + "/".join(parts)).replace("/", separator)
    source = of(tmp_path_factory.mktemp("o"), trace=trace((path, 5))).source
    if source is None:
        return
    shown = source.path.split("/")
    assert not {"", ".", "..", "C:"} & set(shown)
    assert "\\" not in source.path
    clean = [part for part in parts if part not in (".", "..")]
    if source.package:  # within the folder of installed packages, which names nobody
        assert shown == clean[len(clean) - clean[::-1].index("site-packages") :]
        return
    assert len(shown) <= 2
    if start and clean[0] in ("home", "Users"):
        assert shown == clean[2:][-2:]


@pytest.mark.slow
@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_text(
    tmp_path_factory: pytest.TempPathFactory, name: str, doc: str, scopes: str, stack: str
) -> None:
    found = of(tmp_path_factory.mktemp("o"), name, doc, scopes=scopes, trace=f'File "{stack}", line 1, in f')
    assert found.source is None or found.source.line == 1


def test_real_exports(exported: Path) -> None:
    """Nearly every node of a dynamo export names its module or belongs to the outermost module."""
    result = load(exported / "timm_vit_fused__dynamo__op23__fp32.onnx")
    modules = [origin(result, node).stable_module for node in result.graph.nodes]
    assert {"blocks.0.attn", "blocks.1.mlp.fc1", "norm"} <= set(modules)
    assert sum(module is not None for module in modules) > 0.8 * len(modules)
    torchscript = load(exported / "timm_vit_fused__ts__op17__fp32.onnx")
    origins = [origin(torchscript, node) for node in torchscript.graph.nodes]
    assert "blocks.0.attn" in {place.module for place in origins}
    assert {place.stable_module for place in origins} == {None}


def test_only_short_lists_of_scopes_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    scopes = "['', 'a.b.only_short', 'mul']"
    for longest, module in ((len(scopes), "other"), (len(scopes) + 1, "a.b.only_short")):
        monkeypatch.setattr("trtlint.model.origin._LONGEST", longest)
        _module_of_metadata.cache_clear()
        assert _module_of_metadata(scopes, ": M/other: C/mul: aten.mul") == module
    _module_of_metadata.cache_clear()
