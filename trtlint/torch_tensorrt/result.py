"""Result of a dry run of Torch-TensorRT on a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

_REASONS = {
    "none": "no converter",
    "static": "the converter accepts static shapes only",
    "excluded": "torch_executed_ops names the operator",
    "complex": "the operator computes with complex numbers",
    "cpu": "torch uses this operator only on a CPU, and another operator on a GPU",
    "data": "fallback_data_dependent_ops makes PyTorch run the operator",
}


class Fallback(Struct, frozen=True):
    """An operator that runs in PyTorch instead of an engine.

    Attributes:
        name: the name in the lowered graph.
        op: the operator, such as ``aten.cumprod.default``.
        module: path of the module.
        trace: the source lines that torch recorded.
        type: type and shape of the result.
        reason: the reason for running the operator in PyTorch, in words.
        reason_kind: ``none``, ``validator``, ``static``, ``excluded``, ``complex``, ``cpu`` or ``data``.
    """

    name: str
    op: str
    module: str
    trace: str
    type: str
    reason: str
    reason_kind: str


class Failure(Struct, frozen=True):
    """An engine that fails.

    Either the network of the engine cannot be created, or the builder rejects the network.

    Attributes:
        engine: the name of the engine.
        stage: ``network`` or ``build``.
        message: the error.
        node: the operator that the error names; None if the error names no operator.
    """

    engine: str
    stage: str
    message: str
    node: Fallback | None = None


class DryRun(Struct, frozen=True):
    """One dry run of Torch-TensorRT.

    Attributes:
        unasked: the reason why the dry run was impossible; empty if the dry run was possible.
        torch: the version of torch that ran.
        found: the version of Torch-TensorRT that ran.
        operators: number of operators in the lowered program.
        supported: number of operators in the lowered program for which a converter exists.
        engines: number of engines that the program would get; None if unknown.
        fallbacks: the operators that run in PyTorch because no converter accepts them.
        in_torch: every node that runs in PyTorch.
        failures: engines that fail.
        built: number of engines that the builder of TensorRT-RTX built.
        layers: number of layers of all networks by kind.
        types: number of layers of all networks by the element type of their first output.
        convolutions: number of convolutions and deconvolutions.
        tensor_weights: number of convolutions and deconvolutions whose weights are an input tensor.
        graphs: the networks of the engines, in the form that :mod:`trtlint.torch_tensorrt.network` reads. The
            data may be damaged.
        dropped: options of the call that were not passed to the process, because their values are unknown.
        error: the error that ended the compilation; empty if no error did.
        seconds: run time in seconds.
        peak: peak memory in bytes; None if unknown.
    """

    unasked: str = ""
    torch: str = ""
    found: str = ""
    operators: int = 0
    supported: int = 0
    engines: int | None = None
    fallbacks: tuple[Fallback, ...] = ()
    in_torch: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    built: int = 0
    layers: Mapping[str, int] = field(default_factory=dict)
    types: Mapping[str, int] = field(default_factory=dict)
    convolutions: int = 0
    tensor_weights: int = 0
    graphs: tuple[Any, ...] = ()
    dropped: tuple[str, ...] = ()
    error: str = ""
    seconds: float = 0.0
    peak: int | None = None

    @property
    def torch_nodes(self) -> int:
        """Return the number of nodes that run in PyTorch. If there is no engine, all nodes run in PyTorch."""
        return self.operators if self.engines == 0 and not self.in_torch else len(self.in_torch)


def result_of(answers: Iterable[Any], ended: str, seconds: float, peak: int | None) -> DryRun:
    """Create the result from the answers of the process.

    Args:
        answers: the answers of the process.
        ended: how the process ended, if it crashed or was stopped; otherwise empty.
        seconds: run time in seconds.
        peak: peak memory in bytes.
    """
    stages = [each for each in answers if isinstance(each, dict)]
    answer_data: dict[str, Any] = {}
    failures: list[Failure] = []
    layers: Counter[str] = Counter()
    types: Counter[str] = Counter()
    built = convolutions = tensors = 0
    stage = ""
    for answer in stages:
        answer_data |= answer
        stage = answer.get("stage", stage)
        if network := answer.get("network"):
            if "error" in network:
                node = network.get("node") or {}
                failures.append(Failure(network["engine"], "network", network["error"], _fallback(node)))
            else:
                layers.update(network["layers"])
                types.update(network["types"])
                convolutions += network["convolutions"]
                tensors += network["tensor_weights"]
        if build := answer.get("build"):
            built += bool(build["built"])
            if not build["built"]:
                words = "; ".join(build.get("errors", ())) or "the builder gave no reason"
                failures.append(Failure(build["engine"], "build", words))
    unasked = str(answer_data.get("unasked", ""))
    if not unasked and ended:
        unasked = f"at the stage {stage or 'import'!r} of the dry run, the process {ended}"
    return DryRun(
        unasked=unasked,
        torch=str(answer_data.get("torch", "")),
        found=str(answer_data.get("found", "")),
        operators=int(answer_data.get("operators", 0)),
        supported=int(answer_data.get("supported", 0)),
        engines=_engines(answer_data),
        fallbacks=tuple(_fallback(each) for each in answer_data.get("fallbacks", ())),
        in_torch=tuple(map(str, answer_data.get("in_torch", ()))),
        failures=tuple(failures),
        built=built,
        layers=dict(layers),
        types=dict(types),
        convolutions=convolutions,
        tensor_weights=tensors,
        graphs=tuple(answer["graph"] for answer in stages if "graph" in answer),
        error=str(answer_data.get("ended", "")),
        seconds=seconds,
        peak=peak,
    )


def _engines(answer_data: Mapping[str, Any]) -> int | None:
    if "engines" in answer_data:
        return int(answer_data["engines"])
    # If too few operators are supported, Torch-TensorRT makes no engine and reports no number of engines.
    return 0 if "supported" in answer_data and answer_data.get("stage") == "done" else None


def _fallback(node: Mapping[str, Any]) -> Fallback:
    reason = node.get("reason") or {}
    kind = str(reason.get("kind", ""))
    words = _REASONS.get(kind, f"{reason.get('by') or 'a validator'} refuses the operator")
    texts = {key: str(node.get(key, "")) for key in ("name", "op", "module", "trace", "type")}
    return Fallback(**texts, reason=words, reason_kind=kind)
