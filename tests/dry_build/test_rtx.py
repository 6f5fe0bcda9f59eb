"""Tests of the builder worker, with a fake NVIDIA library."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from trtlint.dry_build import _rtx
from trtlint.dry_build.hints import Hints, NetworkSizes
from trtlint.dry_build.shapes import Input

SIZES = "[E] IShuffleLayer view: reshape changes\nvolume.\n[I] next\n"
OTHER = "[E] no kernel\n"
Build = Callable[[list[Any]], str]
"""Function from a profile to the log of a build, empty if the build succeeds."""


class Layer:
    """A fake library layer. A change of its class makes its own attributes visible."""

    kind = ""

    def __init__(self, type_: str, **own: Any) -> None:
        self.type = type_
        self.own = own

    def get_output(self, index: int) -> Any:
        assert index == 0
        return SimpleNamespace(shape=list(self.own["shape"]), dtype=self.own["dtype"])

    def __getattr__(self, name: str) -> Any:
        assert self.type == self.kind
        found = self.own[name]
        if isinstance(found, Exception):
            raise found
        return found


class ConstantLayer(Layer):
    kind = "constant"


class ConvolutionLayer(Layer):
    kind = "convolution"


class PoolingLayer(Layer):
    kind = "pooling"


class ShuffleLayer(Layer):
    kind = "shuffle"


def constant(dtype: str, *shape: int) -> Layer:
    """Return a constant layer with the numbers 1, 2, and so on."""
    numbers = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    return Layer("constant", dtype=dtype, shape=shape, weights=numbers)


def tensor(name: str, *shape: int, dtype: str = "float", is_shape: bool = False) -> Any:
    """Return an input of a network."""
    names = [f"{name}_{axis}" if size < 0 else None for axis, size in enumerate(shape)]
    return SimpleNamespace(
        name=name,
        shape=list(shape),
        dtype=dtype,
        is_shape_tensor=is_shape,
        get_dimension_name=names.__getitem__,
    )


def network_of(inputs: tuple[Any, ...] = (), layers: tuple[Layer, ...] = ()) -> Any:
    return SimpleNamespace(
        num_inputs=len(inputs),
        get_input=inputs.__getitem__,
        num_layers=len(layers),
        get_layer=layers.__getitem__,
    )


def library(network: Any, build: Build, errors: tuple[str, ...] = (), log: int = 1) -> tuple[Any, list[Any]]:
    """Return a fake library and the configurations of its builds."""
    configs: list[Any] = []

    def create_config() -> Any:
        config = SimpleNamespace(profiles=[], num_compute_capabilities=0, capability=None)

        def set_compute_capability(*given: Any) -> None:
            config.capability = given

        config.set_compute_capability = set_compute_capability
        config.add_optimization_profile = lambda profile: config.profiles.append(profile.given)
        configs.append(config)
        return config

    def create_profile() -> Any:
        given: list[Any] = []
        return SimpleNamespace(
            given=given,
            set_shape=lambda *shape: given.append(("shape", *shape)),
            set_shape_input=lambda *values: given.append(("values", *values)),
        )

    def build_network(given: Any, config: Any) -> bytes | None:
        assert given is network
        text = build(config.profiles)
        os.write(log, text.encode() or b"[V] built\n")
        return None if text else b"engine"

    found = [
        SimpleNamespace(
            desc=lambda text=text: text,
            code=lambda: "ErrorCode.UNSUPPORTED_NODE",
            node_name=lambda: "resize",
            node_operator=lambda: "Resize",
            node=lambda: 3,
            func=lambda: "checkResize",
        )
        for text in errors
    ]
    parser = SimpleNamespace(
        parse_from_file=lambda file: file == "model.onnx" and not errors,
        num_errors=len(errors),
        get_error=found.__getitem__,
    )
    builder = SimpleNamespace(
        create_network=lambda flags: network if flags == 0 else None,
        create_builder_config=create_config,
        create_optimization_profile=create_profile,
        build_serialized_network=build_network,
    )
    trt: Any = SimpleNamespace(
        __version__="1.7.1.116",
        Logger=lambda severity: f"logger of {severity}",
        Builder=lambda logger: builder if logger == "logger of verbose" else None,
        OnnxParser=lambda own, logger: parser if (own, logger) == (network, "logger of verbose") else None,
        ComputeCapability=SimpleNamespace(SM89="sm89", SM120="sm120"),
        ProfilingVerbosity=SimpleNamespace(DETAILED="detailed"),
        LayerType=SimpleNamespace(
            CONSTANT="constant", CONVOLUTION="convolution", POOLING="pooling", SHUFFLE="shuffle"
        ),
        IConstantLayer=ConstantLayer,
        IConvolutionLayer=ConvolutionLayer,
        IPoolingLayer=PoolingLayer,
        IShuffleLayer=ShuffleLayer,
        **{name: name for name in ("int32", "int64", "bool", "uint8", "int8")},
    )
    trt.Logger.VERBOSE = "verbose"
    return trt, configs


class Worker:
    """Run the worker with a log that already contains the parser's output."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
        self._patch = monkeypatch
        self._log = log
        self._file = os.open(log, os.O_RDWR | os.O_CREAT)
        self._stdout = os.fdopen(self._file, "w")
        monkeypatch.setattr(_rtx, "_OUT", self._file)
        self.configs: list[Any] = []

    def run(
        self,
        build: Build,
        *inputs: Any,
        layers: tuple[Layer, ...] = (),
        errors: tuple[str, ...] = (),
        **request: Any,
    ) -> list[dict[str, Any]]:
        """Return the worker's answers."""
        trt, self.configs = library(network_of(inputs, layers), build, errors, self._file)
        self._patch.setattr(sys, "stdout", self._stdout)
        self._patch.setitem(sys.modules, "tensorrt_rtx_bindings", trt)
        said: list[dict[str, Any]] = []
        print("[V] parsed")
        usual = {"model": "model.onnx", "level": "build", "sm": 89, "shapes": []}
        _rtx.work({**usual, **request}, said.append)
        return said

    def log(self) -> str:
        self._stdout.flush()
        return self._log.read_text()

    def close(self) -> None:
        self._stdout.close()


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Worker]:
    made = Worker(monkeypatch, tmp_path / "log")
    yield made
    made.close()


BEGIN: list[dict[str, Any]] = [
    {"stage": "load"},
    {"version": "1.7.1.116", "stage": "parse"},
    {"parsed": True, "errors": []},
]


def build_of(chosen: tuple[str, ...] = (), **kinds: dict[str, Any]) -> dict[str, Any]:
    return {"stage": "build", "shapes": {}, "values": {}, "chosen": chosen, **kinds}


def test_a_model_of_fixed_sizes_is_built_once_without_a_profile(worker: Worker) -> None:
    said = worker.run(lambda _: "", tensor("x", 1, 3), sm=120)
    assert said == [*BEGIN, build_of(), {**build_of(), "built": True}]
    (config,) = worker.configs
    assert (config.num_compute_capabilities, config.capability) == (1, ("sm120", 0))
    assert (config.profiling_verbosity, config.profiles) == ("detailed", [])
    assert worker.log() == "[V] parsed\n[V] built\n"


def test_a_refused_model_of_fixed_sizes_keeps_its_log(worker: Worker) -> None:
    said = worker.run(lambda _: SIZES, tensor("x", 1, 3))
    assert said == [*BEGIN, build_of(), {**build_of(), "built": False}]
    assert worker.log() == f"[V] parsed\n{SIZES}"


def test_a_parse_alone_builds_nothing(worker: Worker) -> None:
    assert worker.run(lambda _: "", tensor("x", -1), level="parse") == BEGIN
    assert worker.configs == []


def test_a_thousand_errors_of_the_parser_are_sent_with_4000_characters_each(worker: Worker) -> None:
    error = {
        "code": "UNSUPPORTED_NODE",
        "node": "resize",
        "op": "Resize",
        "index": 3,
        "text": "no",
        "function": "checkResize",
    }
    said = worker.run(lambda _: "", tensor("x", 1), errors=("no", "a" * 4001, *["more"] * 999))
    assert said == [
        *BEGIN[:2],
        {
            "parsed": False,
            "errors": [error, {**error, "text": "a" * 4000}, *[{**error, "text": "more"}] * 998],
        },
    ]
    assert worker.configs == []


def test_shapes_of_the_user_and_values_of_shape_tensors_are_the_profile(worker: Worker) -> None:
    given = [
        {"name": "x", "shapes": [[1, 4], [2, 4], [3, 4]]},
        {"name": "n", "shapes": [[1, 2], [3, 4], [5, 6]]},
    ]
    said = worker.run(
        lambda _: OTHER, tensor("x", -1, 4), tensor("n", 2, dtype="int64", is_shape=True), shapes=given
    )
    shapes = {"x": ((1, 4), (2, 4), (3, 4))}
    values = {"n": ((1, 2), (3, 4), (5, 6))}
    document = build_of(shapes=shapes, values=values)
    assert said == [*BEGIN, document, {**document, "built": False}]
    (config,) = worker.configs
    assert config.profiles == [
        [("shape", "x", (1, 4), (2, 4), (3, 4)), ("values", "n", (1, 2), (3, 4), (5, 6))]
    ]


def test_a_profile_may_hold_values_alone(worker: Worker) -> None:
    said = worker.run(lambda _: "", tensor("n", 2, dtype="int64", is_shape=True))
    ones = ((1, 1),) * 3
    document = build_of(chosen=("n",), values={"n": ones})
    assert said == [*BEGIN, document, {**document, "built": True}]
    assert worker.configs[0].profiles == [[("values", "n", *ones)]]


def size_of(profiles: list[Any]) -> int:
    """Return the size of the only open dimension in a profile."""
    ((shape,),) = profiles
    size: int = shape[2][-1]
    assert shape[2:] == (shape[2],) * 3
    return size


def tries(said: list[dict[str, Any]]) -> list[tuple[int, Any]]:
    """Return the size and the result of each build, after the first messages."""
    return [(each["shapes"]["x"][1][-1], each["built"]) for each in said if "built" in each]


def test_sizes_are_tried_until_one_fits(worker: Worker) -> None:
    said = worker.run(
        lambda profiles: SIZES if size_of(profiles) != 32 else "", tensor("x", 1, 5, -1, dtype="int32")
    )
    one, two, three = ({"x": ((1, 5, size),) * 3} for size in (128, 64, 32))
    begin = build_of(("x",))
    assert said == [
        *BEGIN,
        {**begin, "shapes": one},
        {**begin, "shapes": one, "built": False},
        {"refused": "IShuffleLayer view: reshape changes volume.", "parsed_to": len("[V] parsed\n")},
        {**begin, "shapes": two},
        {**begin, "shapes": two, "built": False},
        {**begin, "shapes": three},
        {**begin, "shapes": three, "built": True},
    ]
    assert worker.log() == "[V] parsed\n[V] built\n"


def test_a_model_that_no_size_fits_is_undecided(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_rtx, "MOST", 4)
    monkeypatch.setattr(_rtx, "_LONGEST", 9)
    said = worker.run(lambda _: SIZES, tensor("x", 1, 5, -1, dtype="int32"))
    assert tries(said) == [(128, False), (64, False), (32, False), (16, False), (128, None)]
    assert [each["refused"] for each in said if "refused" in each] == ["IShuffleL"]
    assert worker.log() == "[V] parsed\n"


def test_hints_of_the_network_are_tried_first(worker: Worker) -> None:
    table = Layer("constant", dtype="float", shape=(1, 77, 4))
    said = worker.run(
        lambda profiles: SIZES if size_of(profiles) != 77 else "",
        tensor("x", 1, 5, -1, dtype="int32"),
        layers=(table,),
    )
    assert tries(said) == [(128, False), (77, True)]


def test_other_errors_are_retried_a_few_times_and_keep_the_first_log(worker: Worker) -> None:
    table = Layer("constant", dtype="float", shape=(1, 77, 4))
    said = worker.run(
        lambda profiles: f"{OTHER}[I] {size_of(profiles)}\n",
        tensor("x", 1, 5, -1, dtype="int32"),
        layers=(table,),
    )
    assert tries(said) == [(128, False), (64, False), (32, False), (128, False)]
    assert not [each for each in said if "refused" in each]
    assert worker.log() == f"[V] parsed\n{OTHER}[I] 128\n"


@pytest.mark.parametrize(
    ("clock", "count"), [([0.0, 20.0, 20.0], 4), ([0.0, 20.0, 20.1], 3), ([5.0, 25.5], 2)]
)
def test_no_retry_begins_after_twenty_seconds(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, clock: list[float], count: int
) -> None:
    monkeypatch.setattr(_rtx, "time", SimpleNamespace(monotonic=iter(clock).__next__))
    said = worker.run(lambda _: OTHER, tensor("x", 1, 5, -1, dtype="int32"))
    assert len(tries(said)) == count


@pytest.mark.parametrize("error", [RuntimeError, TypeError, ValueError])
def test_an_error_of_the_bindings_is_logged(worker: Worker, error: type[Exception]) -> None:
    def build(_: list[Any]) -> str:
        raise error("bad shape")

    said = worker.run(build, tensor("x", 1))
    assert said[-1] == {**build_of(), "built": False}
    assert worker.log() == f"[V] parsed\n{error.__name__}: bad shape\n"


@pytest.mark.parametrize(
    ("log", "error"),
    [
        (b"", ""),
        (b"[W] warning\n[I] info\n", ""),
        (b"[W] warning\n[E]  two  words \n[E] second\n", "two words"),
        (b"[F] fatal\n", "fatal"),
        (b"[E] one\n two\n[I] other\n", "one two"),
        (b"[E] one\n" + b"x\n" * 9, "one" + " x" * 8),
        (b"[E] \xff", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_the_first_error_of_a_log(log: bytes, error: str) -> None:
    assert _rtx._error_in(log) == error


LAYERS = (
    constant("float", 1, 4),
    constant("float", 2, 3),
    constant("float", 1, 4),
    constant("int32", 2),
    constant("int64", 2, 4),
    constant("int64", 9),
    Layer("activation"),
    Layer("convolution", stride_nd=(1, 2), num_output_maps=8),
    Layer("pooling", stride_nd=(3, 2)),
    Layer("convolution", stride_nd=(), num_output_maps=16),
    Layer("pooling", stride_nd=()),
    Layer("shuffle", reshape_dims=(0, -1, 900)),
    Layer("shuffle", reshape_dims=TypeError()),
    Layer("shuffle", reshape_dims=ValueError()),
    Layer("shuffle", reshape_dims=(6,)),
)


def copies(*layers: Layer) -> tuple[Layer, ...]:
    """Return layers before the change of their classes."""
    return tuple(Layer(each.type, **each.own) for each in layers)


def test_weights_strides_and_channels_are_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_of(layers=copies(*LAYERS))
    trt, _ = library(network, lambda _: "")
    assert _rtx._network_sizes(trt, network) == NetworkSizes(
        tables=((1, 4), (2, 3)),
        numbers=(1, 2, *range(1, 9), 0, -1, 900, 6),
        strides=(2, 3, 1, 1),
        channels=(8, 16),
    )
    monkeypatch.setattr(_rtx, "_MOST_LAYERS", 2)
    assert _rtx._network_sizes(trt, network) == NetworkSizes(tables=((1, 4), (2, 3)))


@pytest.mark.parametrize("error", [AttributeError, TypeError, ValueError, RuntimeError])
def test_a_network_of_another_release_gives_no_hints(error: type[Exception]) -> None:
    network = network_of(layers=(Layer("convolution", stride_nd=error()),))
    trt, _ = library(network, lambda _: "")
    assert _rtx._hints(trt, network) == Hints()
    network = network_of(layers=(constant("float", 1, 77, 4),))
    assert _rtx._hints(trt, network) == Hints(lines=(77,))


@pytest.mark.parametrize(
    ("dtype", "integer"),
    [(name, True) for name in ("int32", "int64", "bool", "uint8", "int8")] + [("float", False)],
)
def test_an_input_as_the_parser_describes_it(dtype: str, integer: bool) -> None:
    trt, _ = library(network_of(), lambda _: "")
    found = _rtx._input(trt, tensor("x", 1, -1, dtype=dtype, is_shape=integer))
    assert found == Input("x", (1, -1), (None, "x_1"), integer, integer)
