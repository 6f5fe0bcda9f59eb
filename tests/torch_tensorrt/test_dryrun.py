"""Tests of dry-run answers: partition and networks, with fake torch and Torch-TensorRT."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from trtlint.torch_tensorrt import _dryrun
from trtlint.torch_tensorrt._dryrun import (
    _errors_since,
    _inputs,
    _mark_outputs,
    _network,
    _position,
    _said,
    _value,
    _whole,
    compile_program,
    logged_errors,
    raised_at,
    work,
)


class Tensor:
    """A fake torch tensor."""

    def __init__(self, *shape: Any) -> None:
        self.shape, self.dtype = shape, "half"


class Module:
    """A fake torch module."""


CUDA = SimpleNamespace(get_device_capability=lambda: (8, 9))
TORCH = SimpleNamespace(Tensor=Tensor, float16="half type", nn=SimpleNamespace(Module=Module), cuda=CUDA)
PACKAGE = SimpleNamespace(Input=lambda **sizes: sizes, Device=lambda name: f"device {name}")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (3, 3),
        ("text", "text"),
        ({"dtype": "float16"}, "half type"),
        ({"set": [1, {"dtype": "float16"}]}, {1, "half type"}),
        ({"set": []}, set()),
    ],
)
def test_options_of_the_compiler(given: Any, expected: object) -> None:
    assert _value(TORCH, given) == expected


def infinite() -> int:
    raise AttributeError("'Infinity' object has no attribute '_mpf_'")


def bound(number: Callable[[], int]) -> Any:
    """Return a bound of sympy."""
    return type("Bound", (), {"__int__": lambda _: number()})()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (7, 7), (1, 1), (0, 1), (-5, 1), ((1 << 31) - 1, (1 << 31) - 1), (1 << 31, 64), (1 << 40, 64),
        ("x", 64), (None, 64), (float("inf"), 64), (bound(infinite), 64), (bound(lambda: 9), 9),
    ],
)  # fmt: skip
def test_bounds_of_a_size(given: Any, expected: int) -> None:
    assert _whole(given, 64) == expected


def symbol(name: str, hint: int | None = None) -> Any:
    """Return a dynamic size."""
    node = SimpleNamespace(expr=name, hint=hint, has_hint=lambda: hint is not None)
    return SimpleNamespace(node=node)


RANGES = {
    "infinite": SimpleNamespace(lower=None, upper=None),
    "b": SimpleNamespace(lower=2, upper=8),
    "wide": SimpleNamespace(lower=1, upper=1 << 20),
    "one": SimpleNamespace(lower=4, upper=4),
    "empty": SimpleNamespace(lower=9, upper=3),
}


def program(shapes: dict[str, Any], example: Any, signature: list[Any] | None = None) -> Any:
    """Return an exported program with inputs."""
    nodes = [
        SimpleNamespace(name=name, op="placeholder", meta={} if value is None else {"val": value})
        for name, value in shapes.items()
    ]
    nodes.append(SimpleNamespace(name="x", op="output", meta={"val": 3}))
    return SimpleNamespace(
        example_inputs=example,
        graph=SimpleNamespace(nodes=nodes),
        graph_signature=SimpleNamespace(user_inputs=list(shapes) if signature is None else signature),
        range_constraints=RANGES,
    )


def sized(*sizes: Any) -> Any:
    """Return the input of a tensor of these sizes."""
    found, names = _inputs(TORCH, PACKAGE, program({"x": Tensor(*sizes)}, (("example",), {})))
    assert names == {}
    return found[0]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((2, 3), {"shape": (2, 3), "dtype": "half"}),
        ((), {"shape": (), "dtype": "half"}),
        ((symbol("one"), 3), {"shape": (4, 3), "dtype": "half"}),
        ((symbol("b"), 3), ((2, 3), (2, 3), (8, 3))),
        ((3, symbol("b", 4)), ((3, 2), (3, 4), (3, 8))),
        ((symbol("b", 1),), ((2,), (2,), (8,))),
        ((symbol("b", 20),), ((2,), (8,), (8,))),
        # Without a range: 1 to 64.
        ((symbol("other"),), ((1,), (1,), (64,))),
        ((symbol("other", 70),), ((1,), (64,), (64,))),
        ((symbol("infinite"),), ((1,), (1,), (64,))),
        # At most 4096, unless the example is larger.
        ((symbol("wide"),), ((1,), (1,), (4096,))),
        ((symbol("wide", 5000),), ((1,), (5000,), (5000,))),
        ((symbol("empty"),), {"shape": (9,), "dtype": "half"}),
    ],
)
def test_ranges_of_an_input(sizes: tuple[Any, ...], expected: Any) -> None:
    if isinstance(expected, tuple):
        keys = ("min_shape", "opt_shape", "max_shape")
        expected = {**dict(zip(keys, expected, strict=True)), "dtype": "half"}
    assert sized(*sizes) == expected


def test_inputs_by_position_and_by_name() -> None:
    shapes = {"a": Tensor(1), "weight": Tensor(9), "b": Tensor(2), "c": Tensor(3)}
    both = program(shapes, (("ea",), {"nb": "eb", "nc": "ec"}), ["a", None, "b", "c"])
    made = [{"shape": (size,), "dtype": "half"} for size in (1, 2, 3)]
    assert _inputs(TORCH, PACKAGE, both) == ([made[0]], {"nb": made[1], "nc": made[2]})


@pytest.mark.parametrize(
    ("shapes", "example"),
    [
        ({"a": Tensor(1), "b": 3}, (("ea", "eb"), {"n": 1})),
        ({"a": None}, (("ea",), {"n": 1})),
        ({"a": Tensor(1), "b": Tensor(2)}, (("ea",), {})),
        ({"a": Tensor(1)}, (("ea",), {"n": 1})),
    ],
)
def test_other_inputs_are_the_example(shapes: dict[str, Any], example: Any) -> None:
    assert _inputs(TORCH, PACKAGE, program(shapes, example)) == (list(example[0]), example[1])


def test_a_program_without_an_example() -> None:
    assert _inputs(TORCH, PACKAGE, program({}, None)) == ([], {})


def layer(kind: str, name: str, inputs: list[Any], *outputs: str) -> Any:
    """Return a layer of TensorRT."""
    return SimpleNamespace(
        type=f"LayerType.{kind}", name=name, num_inputs=len(inputs), get_input=inputs.__getitem__,
        num_outputs=len(outputs), get_output=lambda port: SimpleNamespace(dtype=f"DataType.{outputs[port]}"),
    )  # fmt: skip


def network(*layers: Any) -> Any:
    """Return a network of TensorRT."""
    return SimpleNamespace(num_layers=len(layers), get_layer=layers.__getitem__)


def test_layers_of_a_network() -> None:
    layers = [
        layer("CONVOLUTION", "a", ["x"], "HALF"),
        layer("CONVOLUTION", "b", ["x", "w"], "HALF", "INT32"),
        layer("DECONVOLUTION", "c" * 1001, ["x", "w", "b"], "FLOAT"),
        layer("DECONVOLUTION", "d", ["x", None], "FLOAT"),
        layer("MATRIX_MULTIPLY", "e", ["x", "y"], "FLOAT"),
        layer("ASSERTION", "f", ["x"]),
    ]
    assert _network(network(*layers)) == {
        "layers": {"CONVOLUTION": 2, "DECONVOLUTION": 2, "MATRIX_MULTIPLY": 1, "ASSERTION": 1},
        "types": {"HALF": 2, "FLOAT": 3},
        "convolutions": 4,
        "tensor_weights": 2,
    }


def test_a_large_network_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_dryrun, "_MOST_LAYERS", 3)
    layers = [layer("CONVOLUTION", name, ["x", "w"], "HALF") for name in "abcd"]
    assert _network(network(*layers)) == {
        "layers": {"CONVOLUTION": 3},
        "types": {"HALF": 3},
        "convolutions": 3,
        "tensor_weights": 3,
    }


def test_outputs_are_marked_without_a_type(monkeypatch: pytest.MonkeyPatch) -> None:
    class TrtTensor:
        name = ""

    other = TrtTensor()
    monkeypatch.setitem(sys.modules, "tensorrt", SimpleNamespace(ITensor=TrtTensor))
    asked: list[Any] = []
    monkeypatch.setitem(
        sys.modules,
        "torch_tensorrt.dynamo.conversion.converter_utils",
        SimpleNamespace(get_trt_tensor=lambda *given: asked.append(given) or other),
    )
    interpreter = SimpleNamespace(TRTInterpreter=SimpleNamespace())
    _mark_outputs(interpreter)
    marked: list[Any] = []
    own = SimpleNamespace(
        ctx=SimpleNamespace(net=SimpleNamespace(mark_output=marked.append)), _output_names=[]
    )
    first = TrtTensor()
    output = interpreter.TRTInterpreter.output
    assert output(own, "out", ((first, 3.0),), {}) == [first, other]
    assert asked == [(own.ctx, 3.0, "out")]
    assert (first.name, other.name, own._output_names) == ("output0", "output1", ["output0", "output1"])
    assert marked == [first, other]
    assert output(own, "out", (first,), {}) == [first]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("a\n  b"), "ValueError: a b"),
        (KeyError(), "KeyError"),
        (ValueError("x" * 1000), f"ValueError: {'x' * 1000}"),
        (ValueError("a" * 600 + "b" * 401), f"ValueError: {'a' * 500} ... {'a' * 99}{'b' * 401}"),
    ],
)
def test_the_words_of_an_error(error: Exception, expected: str) -> None:
    assert _said(error) == expected


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", []),
        ("all is well", []),
        ("x [E] one\n[F] two\nx [W] no", ["[E] one", "[F] two"]),
        ("".join(f"[E] {number}\n" for number in range(7)), [f"[E] {number}" for number in range(5)]),
        ("[E] no CUDA driver here\n[E] other", ["[E] other"]),
        ("[E] Error Code 1: Cuda Runtime (no device)", []),
        # Only an error that follows from another one: it is shown if it is alone.
        ("[E] Output shape can not be computed\n", ["[E] Output shape can not be computed"]),
        ("[E] Output shape can not be computed\n[E] own", ["[E] own"]),
        ("[E] " + "x" * 1001, ["[E] " + "x" * 996]),
        ("y ILayer::set: Error Code 3: z", ["ILayer::set: Error Code 3: z"]),
        ("y Layer::set: Error Code 3: z", ["Error Code 3: z"]),
    ],
)
def test_errors_of_a_log(log: str, expected: list[str]) -> None:
    assert logged_errors(log.encode()) == expected


@pytest.fixture
def output(tmp_path: Path) -> Iterator[None]:
    """Redirect standard output to a file."""
    saved = os.dup(1)
    with (tmp_path / "log").open("wb") as file:
        os.dup2(file.fileno(), 1)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


@pytest.mark.usefixtures("output")
def test_errors_since_a_position_of_the_log() -> None:
    os.write(1, b"[E] before\n")
    begin = _position()
    os.write(1, b"[E] after\n")
    assert (begin, _errors_since(begin), _errors_since(0)) == (11, ["[E] after"], ["[E] before", "[E] after"])


@pytest.mark.usefixtures("output")
def test_errors_in_the_first_4_mib_of_the_log() -> None:
    os.write(1, bytes((4 << 20) - 8) + b"[E] last[E] cut")
    assert _errors_since(0) == ["[E] last"]


def test_a_pipe_has_no_position() -> None:
    saved = os.dup(1)
    ends = os.pipe()
    os.dup2(ends[1], 1)
    try:
        assert _position() == 0
    finally:
        os.dup2(saved, 1)
        for each in (saved, *ends):
            os.close(each)


def test_an_error_of_a_library_of_torch_tensorrt_names_the_innermost_function(tmp_path: Path) -> None:
    def run(name: str, code: str, **names: Any) -> dict[str, Any]:
        exec(compile(code, str(tmp_path / name), "exec"), names)  # the path decides
        return names

    inner = run("torch_tensorrt/trtlint/a.py", "def own(node):\n    return 1 // 0\n")["own"]
    plain = run("torch_tensorrt/b.py", "def convert(node):\n    return own(node)\n", own=inner)["convert"]
    outer = run("torch_tensorrt/c.py", "def outer(node):\n    return convert(0)\n", convert=plain)["outer"]
    nodes = (SimpleNamespace(op="call", target="aten.a"), SimpleNamespace(target="b"), None)
    found = []
    for node in nodes:
        with pytest.raises(ZeroDivisionError) as error:
            outer(node)
        found.append(raised_at(error.value))
    assert found == [" (aten.a in convert)", " (in convert)", " (in convert)"]


class Compiler:
    """A fake Torch-TensorRT compiler with one good engine, then one failed converter."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.calls: list[Any] = []
        self.modules: list[Any] = []
        self.partitioning: Any = SimpleNamespace(get_graph_converter_support=lambda *given: (3, 4, given))
        self.dryrun_stats_display: Any = lambda *given: self.calls.append(("display", *given))
        self.convert_module: Any = lambda *given: self.calls.append(("convert", *given))

    def compile(self, program: Any, **given: Any) -> None:
        """Compile."""
        self.calls.append((program, given))
        graph = SimpleNamespace(graph=SimpleNamespace(nodes=[]))
        self.calls.append(self.partitioning.get_graph_converter_support(graph, 1))
        tracker = SimpleNamespace(
            tensorrt_graph_count=2,
            per_subgraph_data=[SimpleNamespace(subgraph_op_count=5), SimpleNamespace(subgraph_op_count=6)],
            to_run_in_torch=["t" * 1001, *["u"] * 2000],
        )
        self.dryrun_stats_display(tracker, "more")
        for name in ("good", "bad"):
            module = self.convert_module(name, "inputs", "more", settings="settings", name=f"e_{name}", x=1)
            module.setup_engine()
            module.set_output_tensors_as_unowned(1)
            self.modules.append(module)
        if self.error:
            raise self.error


class Config:
    """A fake builder configuration."""

    num_compute_capabilities = 0

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def set_compute_capability(self, *given: Any) -> None:
        """Record the call."""
        self.asked.append(given)


class Kind(str):
    """A fake layer kind."""

    @property
    def name(self) -> str:
        """Return the name without the enumeration."""
        return self.rpartition(".")[2]


class Interpreter:
    """A fake Torch-TensorRT interpreter."""

    plan: Any = "plan"
    kind: Any = Kind("LayerType.FILL")
    made: list[Interpreter]

    def __init__(self, module: Any, inputs: Any, *, output_dtypes: Any, compilation_settings: Any) -> None:
        self.given = (module, inputs, output_dtypes, compilation_settings)
        self.ctx = SimpleNamespace(net=network())
        self.builder = SimpleNamespace(build_serialized_network=self._build)
        self.config = Config()
        self._cur_node = "the node"
        self.made.append(self)

    def run_node(self, node: Any) -> None:
        """Convert a node."""
        fill = SimpleNamespace(type=self.kind, name="n", num_inputs=0, num_outputs=0)
        self.ctx.net = SimpleNamespace(
            num_layers=1, get_layer=[fill].__getitem__, num_inputs=0, num_outputs=0
        )

    def _construct_trt_network_def(self) -> None:
        if self.given[0] == "bad":
            raise ValueError("no such converter")
        self.run_node(SimpleNamespace(name="node", target="aten.fill", meta={"stack_trace": "line 1"}))

    def _populate_trt_builder_config(self) -> Config:
        return self.config

    def _build(self, network: Any, config: Any) -> Any:
        assert (network, config) == (self.ctx.net, self.config)
        if isinstance(self.plan, Exception):
            raise self.plan
        if self.plan is None:
            os.write(1, b"[E] no plan\n")
        return self.plan


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """Install a fake compiler and record its results."""
    compiler = Compiler()
    monkeypatch.setattr(Interpreter, "made", [], raising=False)
    monkeypatch.setattr(_dryrun, "operators", lambda torch, module: {"operators": 9, "fallbacks": []})
    for name, module in (
        ("torch_tensorrt.dynamo._compiler", compiler),
        ("torch_tensorrt.dynamo.conversion._TRTInterpreter", SimpleNamespace(TRTInterpreter=Interpreter)),
        ("torch_tensorrt.dynamo.conversion.converter_utils", SimpleNamespace(get_trt_tensor=None)),
        ("tensorrt", SimpleNamespace(ComputeCapability=SimpleNamespace(SM89="capability 8.9"))),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    return compiler


def asked(*, build: bool = False, release: str = "2.13.0", **options: Any) -> list[Any]:
    """Return the messages of a compilation."""
    said: list[Any] = []
    request = {"release": release, "options": options, "build": build}
    compile_program(TORCH, PACKAGE, request, said.append, program({}, ((), {})))
    return said


PARTITION = [
    {"stage": "partition", "operators": 9, "fallbacks": []},
    {"supported": 3},
    {
        "engines": 2,
        "engine_operators": [5, 6],
        "in_torch": ["t" * 1000, *["u"] * 1999],
    },
]
GOOD = [
    {"stage": "network", "engine": "e_good"},
    {"network": {"engine": "e_good", "layers": {"FILL": 1}, "types": {}, "convolutions": 0,
                 "tensor_weights": 0}},
    {"graph": {
        "engine": "e_good", "tensors": [], "inputs": [], "outputs": [],
        "layers": [{"kind": "FILL", "name": "n", "inputs": [], "outputs": [], "settings": {}, "node": 0}],
        "nodes": [{"name": "node", "op": "aten.fill", "module": "", "trace": 0}], "traces": ["line 1"],
    }},
]  # fmt: skip
BUILD = {"stage": "build", "engine": "e_good"}
BAD = [
    {"stage": "network", "engine": "e_bad"},
    {"network": {"engine": "e_bad", "error": "ValueError: no such converter",
                 "node": {"name": "the node", "op": ""}}},
]  # fmt: skip
DONE = {"stage": "done"}


def test_a_dry_run_sends_each_stage(modules: Compiler) -> None:
    before = (modules.dryrun_stats_display, modules.convert_module)
    support = modules.partitioning.get_graph_converter_support
    assert asked(precision={"dtype": "float16"}) == [*PARTITION, *GOOD, *BAD, DONE]
    compiled, (supported, total, _), display = modules.calls
    assert compiled[1] == {
        "arg_inputs": [], "kwarg_inputs": {}, "device": "device cuda:0", "precision": "half type",
    }  # fmt: skip
    assert (supported, total, display[0], display[2]) == (3, 4, "display", "more")
    assert [each.given for each in Interpreter.made] == [
        ("good", "inputs", None, "settings"), ("bad", "inputs", None, "settings"),
    ]  # fmt: skip
    assert all(isinstance(each, Module) for each in modules.modules)
    assert (modules.dryrun_stats_display, modules.convert_module) == before
    assert modules.partitioning.get_graph_converter_support is support


@pytest.mark.usefixtures("output")
@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ("plan", {"built": True}),
        (None, {"built": False, "errors": ["[E] no plan"]}),
        (ValueError("x"), {"built": False, "errors": ["ValueError: x"]}),
    ],
)
def test_a_dry_run_builds_each_network(
    modules: Compiler, monkeypatch: pytest.MonkeyPatch, plan: Any, expected: dict[str, Any]
) -> None:
    monkeypatch.setattr(Interpreter, "plan", plan)
    os.write(1, b"[E] of another engine\n")
    sent = {"build": {"engine": "e_good", **expected}}
    assert asked(build=True) == [*PARTITION, *GOOD, BUILD, sent, *BAD, DONE]
    config = Interpreter.made[0].config
    assert (config.num_compute_capabilities, config.asked) == (1, [("capability 8.9", 0)])


def test_a_network_that_cannot_be_read(modules: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Interpreter, "kind", "LayerType.FILL")
    unread = {"unread": "AttributeError: 'str' object has no attribute 'name'"}
    assert asked() == [*PARTITION, *GOOD[:-1], unread, *BAD, DONE]
    assert len(modules.modules) == 2


def test_a_network_with_too_many_layers_is_not_sent(
    modules: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trtlint.torch_tensorrt._layers.MOST_LAYERS", 0)
    assert asked() == [*PARTITION, *GOOD[:-1], *BAD, DONE]
    assert len(modules.modules) == 2


def test_a_compilation_that_fails(modules: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    modules.error = KeyError("x")
    monkeypatch.setattr(_dryrun, "raised_at", lambda error: f" (in {len(error.args)})")
    assert asked()[-1] == {"ended": "KeyError: 'x' (in 1)"}


@pytest.mark.parametrize(("release", "replaced"), [("2.12.1", True), ("2.13.0", False)])
def test_older_releases_mark_outputs_in_another_way(
    modules: Compiler, monkeypatch: pytest.MonkeyPatch, release: str, replaced: bool
) -> None:
    patched: list[Any] = []
    monkeypatch.setattr(_dryrun, "_mark_outputs", patched.append)
    asked(release=release)
    assert bool(patched) is replaced


def test_a_program_that_torch_cannot_load(
    modules: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def load(path: str) -> Any:
        if path == "bad.pt2":
            raise ValueError("no archive")
        return program({}, ((), {}))

    torch = ModuleType("torch")
    vars(torch).update(vars(TORCH), __version__="2.13.0", export=SimpleNamespace(load=load))
    monkeypatch.setitem(sys.modules, "torch", torch)
    given: list[Any] = []
    package = SimpleNamespace(**vars(PACKAGE), __version__="2.13.0+cu130")
    monkeypatch.setattr(_dryrun, "install", lambda *words: given.append(words) or package)
    request: dict[str, Any] = {
        "release": "2.13.0", "tensorrt": "10.16", "sms": [89], "wheel": None, "options": {}, "build": False,
    }  # fmt: skip
    begin = [{"stage": "import"}, {"stage": "load", "torch": "2.13.0", "found": "2.13.0+cu130"}]
    for name, rest in (
        ("bad.pt2", [{"unasked": "torch 2.13.0 cannot load the program: ValueError: no archive"}]),
        ("good.pt2", [{"stage": "lower"}, *PARTITION, *GOOD, *BAD, DONE]),
    ):
        said: list[Any] = []
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        work({**request, "program": name}, said.append)
        assert said == [*begin, *rest]
        assert given.pop() == ("2.13.0", "10.16", [89], None, folder / "package")


def test_a_package_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[Any] = []
    request = {"release": "2.13.0", "tensorrt": "10.16", "sms": [89], "wheel": str(tmp_path / "none")}
    work(request, said.append)
    words = f"the package torch-tensorrt is not installed in {tmp_path / 'none'}"
    assert said == [{"stage": "import"}, {"unasked": words}]
