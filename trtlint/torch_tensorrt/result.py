"""Answers of Torch-TensorRT about a program, from a separate process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from trtlint.lean import dataclass

_REASONS = {
    "none": "no converter",
    "static": "the converter accepts static shapes only",
    "excluded": "torch_executed_ops names the operator",
    "complex": "the operator computes with complex numbers",
    "data": "fallback_data_dependent_ops leaves the operator to PyTorch",
}


@dataclass(frozen=True, slots=True)
class Fallback:
    """An operator that runs in PyTorch.

    Attributes:
        name: its name in the lowered graph.
        op: the operator, ``aten.cumprod.default``.
        module: path of the module.
        trace: the source lines as torch noted them.
        type: type and shape of the result.
        reason: why, in words.
        reason_kind: ``none``, ``validator``, ``static``, ``excluded``, ``complex`` or ``data``.
    """

    name: str
    op: str
    module: str
    trace: str
    type: str
    reason: str
    reason_kind: str


@dataclass(frozen=True, slots=True)
class Failure:
    """An engine whose network cannot be made, or which the builder refuses.

    Attributes:
        engine: its name.
        stage: ``network`` or ``build``.
        message: the error.
        node: the operator that it names; None for none.
    """

    engine: str
    stage: str
    message: str
    node: Fallback | None = None


@dataclass(frozen=True, slots=True)
class DryRun:
    """One dry run of Torch-TensorRT.

    Attributes:
        unasked: why Torch-TensorRT could not be asked; empty where it was.
        torch: the version of torch that ran.
        found: the version of Torch-TensorRT that ran.
        operators: operators of the lowered program.
        supported: those that have a converter.
        engines: engines that the program would get; None if unknown.
        fallbacks: the operators that run in PyTorch for want of a converter.
        in_torch: every node that runs in PyTorch.
        failures: engines that fail.
        built: engines that the builder of TensorRT-RTX built.
        layers: layers of all networks by kind.
        types: layers of all networks by the type of their first output.
        convolutions: convolutions and deconvolutions.
        tensor_weights: those of them whose weights are a tensor.
        tensor_weight_layers: the names of these.
        error: what ended the compilation; empty for none.
        seconds: how long it took.
        peak: bytes of memory at most; None where not known.
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
    tensor_weight_layers: tuple[str, ...] = ()
    error: str = ""
    seconds: float = 0.0
    peak: int | None = None

    @property
    def torch_nodes(self) -> int:
        """Nodes that run in PyTorch: all of them where the program gets no engine."""
        return self.operators if self.engines == 0 and not self.in_torch else len(self.in_torch)


def result_of(answers: Iterable[Any], ended: str, seconds: float, peak: int | None) -> DryRun:
    """Return the result that the answers of the process make.

    Args:
        answers: what it said.
        ended: how it ended, where that was not by itself; empty otherwise.
        seconds: how long it ran.
        peak: bytes of memory at most.
    """
    answer_data: dict[str, Any] = {}
    failures: list[Failure] = []
    layers: Counter[str] = Counter()
    types: Counter[str] = Counter()
    built = convolutions = tensors = 0
    names: list[str] = []
    stage = ""
    for answer in (each for each in answers if isinstance(each, dict)):
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
                names += network["tensor_weight_layers"]
        if build := answer.get("build"):
            built += bool(build["built"])
            if not build["built"]:
                words = "; ".join(build.get("errors", ())) or "the builder gave no reason"
                failures.append(Failure(build["engine"], "build", words))
    unasked = str(answer_data.get("unasked", ""))
    if not unasked and ended:
        unasked = f"the process {ended} while it was at the stage {stage or 'import'!r}"
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
        tensor_weight_layers=tuple(names),
        error=str(answer_data.get("ended", "")),
        seconds=seconds,
        peak=peak,
    )


def _engines(answer_data: Mapping[str, Any]) -> int | None:
    if "engines" in answer_data:
        return int(answer_data["engines"])
    # Torch-TensorRT returns the module as it is where too few operators are supported.
    return 0 if "supported" in answer_data and answer_data.get("stage") == "done" else None


def _fallback(node: Mapping[str, Any]) -> Fallback:
    reason = node.get("reason") or {}
    kind = str(reason.get("kind", ""))
    words = _REASONS.get(kind, f"{reason.get('by') or 'a validator'} refuses the operator")
    texts = {key: str(node.get(key, "")) for key in ("name", "op", "module", "trace", "type")}
    return Fallback(**texts, reason=words, reason_kind=kind)
