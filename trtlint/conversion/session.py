"""Convert a model: choose types, write them, and prove the result."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.conversion.casting import Casting
from trtlint.conversion.cut import Problem, narrow_nodes
from trtlint.conversion.fixed import Fixed, fixed_nodes, is_stored, kept_by_user, uses_floats
from trtlint.conversion.islands import islands, joined
from trtlint.conversion.layertypes import LayerTypes, asked_types
from trtlint.conversion.measuring import Found, search_in_process
from trtlint.conversion.narrowports import Ports, ports_of
from trtlint.conversion.opset import opset_for
from trtlint.conversion.result import KEY, CastAdded, Conversion, Island, Kept
from trtlint.conversion.stored import Range, ranges_of
from trtlint.conversion.typing_plan import TypePlan, boundary_values
from trtlint.conversion.weight import flops, is_product
from trtlint.conversion.writing import Converted, is_external, require_writable, write
from trtlint.files.limits import limit_work
from trtlint.fixes.source import SourceModel, read_source
from trtlint.lean import dataclass
from trtlint.measurement.formats import FORMATS
from trtlint.measurement.inputs import Inputs
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model, interpret, undeclared
from trtlint.model.protos import text

if TYPE_CHECKING:
    import onnx

_LISTED = 5
"""Layers that a note lists."""
Listen = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What to convert, and how.

    Attributes:
        model: the file.
        type: ``fp16`` or ``bf16``.
        io: the type of inputs and outputs: ``fp32``, or that type.
        inputs: the inputs to measure and prove on; made-up ones where there are none.
        keep: nodes, operator types or names with ``*`` that stay in FP32.
        tolerance: the largest error of an output that passes.
        measure: whether ONNX Runtime runs the model.
        build: whether TensorRT-RTX builds both models.
        seconds: the time limit of each run of ONNX Runtime; None for one that fits the size.
        memory: the limit of memory in bytes, likewise.
        layers: the types that a weakly typed build asks of layers, None for none.
    """

    model: Path
    type: str = "fp16"
    io: str = "fp32"
    inputs: Inputs = field(default_factory=Inputs)
    keep: tuple[str, ...] = ()
    tolerance: float = 1e-2
    measure: bool = True
    build: bool = False
    seconds: float | None = None
    memory: int | None = None
    layers: LayerTypes | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A converted model that is not written yet.

    Attributes:
        conversion: what is known of it.
        converted: its structure; None where nothing changes.
        external: whether the source has external data.
        source: the model as it was read.
    """

    conversion: Conversion
    converted: Converted | None
    external: bool
    source: SourceModel

    def write(self, out: Path, protected: Sequence[Path] = ()) -> Draft:
        """Write the model; return the draft with the file's name and sizes.

        Raises:
            ModelError: the source changed.
            OSError: a file cannot be read or written.
        """
        assert self.converted is not None
        size = write(self.converted, out, tuple(protected), external=self.external)
        before = self.source.raw.tensors.size + self.source.external
        return replace(self, conversion=replace(self.conversion, output=str(out), size=(before, size)))


class Labels:
    """The operators of a model with what settles their types.

    Args:
        model: the source.
        type_: ``fp16`` or ``bf16``.
        keep: what the user keeps in FP32.
        layers: the types that a build asks of layers, None for none.
    """

    def __init__(self, model: Model, type_: str, keep: Sequence[str], layers: LayerTypes | None) -> None:
        self.model = model
        self.type = type_
        self.opset = opset_for(model, type_)
        self.nodes = tuple(node for node in model.graph.nodes if uses_floats(node) and not is_stored(node))
        self.fixed: Fixed = kept_by_user(model, keep)
        ordered = set(self.fixed)
        for node, reason in fixed_nodes(model, type_, self.opset).items():
            self.fixed.setdefault(node, reason)
        self.asked = asked_types(self.nodes, layers or LayerTypes(), type_)
        self.forced: frozenset[Node] = frozenset()
        if self.asked.binding:
            for node, reason in self.asked.fp32.items():
                self.fixed.setdefault(node, reason)
                ordered.add(node)
            self.forced = frozenset(node for node in self.asked.narrow if node not in self.fixed)
        self.ports: dict[Node, Ports] = {
            node: found
            for node in model.graph.nodes
            if (found := ports_of(node, self.opset, type_)) is not None
        }
        self.islands = islands(model)
        own = set(self.nodes)
        if type_ == "fp16":
            norms = (node for island in self.islands if island.kind == "norm" for node in island.nodes & own)
            for node in norms:
                if node not in self.forced:
                    self.fixed.setdefault(node, "TensorRT warns of normalizations written out in FP16")
        # An operator that no type but FP32 suits does not force its island.
        free = {node for node, reason in self.fixed.items() if reason.startswith("ONNX has no")}
        # What the user orders of single operators holds for these alone.
        free |= self.forced | ordered
        self.groups = _tied((island.nodes & own for island in self.islands if not island.divisible), free)
        self.attention = _tied((island.nodes & own for island in self.islands if island.divisible), free)

    @property
    def preferred(self) -> dict[Node, bool]:
        """The operators for which the build would like a type: whether that is the narrow one."""
        if self.asked.binding:
            return {}
        return {**dict.fromkeys(self.asked.fp32, False), **dict.fromkeys(self.asked.narrow, True)}

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the types that a build asks of layers has no effect."""
        found = []
        if self.asked.unmatched:
            names = ", ".join(self.asked.unmatched[:_LISTED])
            found.append(f"no operator has the name of {len(self.asked.unmatched)} layers: {names}")
        if self.asked.other:
            found.append(f"types of layers without effect: {', '.join(self.asked.other[:_LISTED])}")
        return tuple(found)

    def together(self, fixed: Mapping[Node, str]) -> tuple[frozenset[Node], ...]:
        """Return the groups of operators that get one type.

        No builder fuses attention in FP32, so that a block with an operator in FP32 falls apart.

        Args:
            fixed: the operators in FP32.
        """
        whole = [group for group in self.attention if not group & fixed.keys()]
        return tuple(map(frozenset, joined([*self.groups, *whole])))

    def fixed_with(self, kept: Mapping[str, str]) -> dict[Node, str]:
        """Return the operators in FP32 with those of their islands.

        Args:
            kept: by path of an operator that stays in FP32 for its numbers, the reason.
        """
        found = dict(self.fixed)
        for node in self.nodes:
            if node.path in kept and node not in self.forced:
                found.setdefault(node, kept[node.path])
        for group in self.groups:
            first = next((node for node in group if node in found), None)
            if first is not None:
                for node in group:
                    found.setdefault(node, f"it is fused with {first.path}")
        return found


def _tied(groups: Iterable[Iterable[Node]], free: Collection[Node]) -> list[frozenset[Node]]:
    """Join groups that overlap, without the operators that are free."""
    return [group for found in joined(groups) if len(group := frozenset(found - set(free))) > 1]


class Session:
    """The conversion of one model: types are chosen, written, and chosen again where a proof fails.

    Args:
        request: what to convert, and how.
        listen: receives the current step.

    Raises:
        ConversionError: the model cannot be converted.
        ModelError, OSError: the model cannot be read.
        KeepError: a pattern of operators to keep matches nothing.
    """

    def __init__(self, request: Request, listen: Listen | None = None) -> None:
        self.request = request
        self.listen = listen or (lambda _: None)
        self.found = Found()
        self.listen("reading")
        self.source = read_source(request.model)
        with limit_work(request.model, allowance=self.source.allowance()):
            data, declared = undeclared(self.source.proto)
            self.model = interpret(request.model, data, self.source.raw.tensors, declared)
            require_writable(self.source.proto)
            self.external = is_external(self.source.proto)
            self.unchanged = ""
            if KEY in self.model.metadata:
                self.unchanged = "trtlint converted this model already"
                return
            self.labels = Labels(self.model, request.type, request.keep, request.layers)
            if all(node in self.labels.fixed for node in self.labels.nodes):
                self.unchanged = "no operator of the model computes in FP32 and may change its type"
                return
            self.ranges = ranges_of(self.model, self.labels, FORMATS[request.type])

    def measure(self, attempt: int = 0) -> None:
        """Find the operators whose numbers need FP32.

        Args:
            attempt: how many searches went before, whose result failed the rehearsal.

        Raises:
            InputsError: the inputs cannot be used.
            MissingRuntimeError: ONNX Runtime is not there.
        """
        if self.request.measure:
            self.found = search_in_process(self.request, self.labels, self.ranges, self.listen, attempt)
        else:
            self.found = Found({node.path: reason for node, reason in self.ranges.kept.items()})

    def pin(self, names: Iterable[str], reason: str) -> bool:
        """Keep operators in FP32; return whether any was not kept before."""
        wanted = set(names)
        new = [
            node
            for node in self.labels.nodes
            if node not in self.labels.fixed and wanted & {node.path, text(node.proto.name)}
        ]
        self.labels.fixed.update(dict.fromkeys(new, reason))
        return bool(new)

    def draft(self, *, kept: bool = True) -> Draft:
        """Return the converted model.

        Args:
            kept: whether operators stay in FP32 for their numbers.
        """
        if self.unchanged:
            request = self.request
            done = Conversion(
                path=str(request.model),
                output="",
                type=request.type,
                io=request.io,
                unchanged=self.unchanged,
                notes=tuple(self.model.notes),
            )
            return Draft(done, None, self.external, self.source)
        found = self.found if kept else Found()
        return assemble(
            self.request, self.source, self.model, self.labels, self.ranges, found, external=self.external
        )


def assemble(
    request: Request,
    source: SourceModel,
    model: Model,
    labels: Labels,
    ranges: Range,
    found: Found,
    *,
    external: bool,
) -> Draft:
    """Cut, write the structure, and describe the result."""
    import onnx

    format_ = FORMATS[request.type]
    fixed = labels.fixed_with(found.kept)
    narrow_io = request.io != "fp32"
    boundary = boundary_values(model.graph)
    problem = Problem(
        nodes=labels.nodes,
        ports=labels.ports,
        fixed=frozenset(fixed),
        groups=labels.together(fixed),
        narrow_io=narrow_io,
        boundary=boundary,
        forced=labels.forced,
        preferred=labels.preferred,
    )
    narrow = {node for node in narrow_nodes(problem) if node in labels.ports}
    plan = TypePlan(model.graph, narrow, labels.ports, narrow_io=narrow_io)
    proto = onnx.ModelProto()
    proto.CopyFrom(source.proto)
    _raise_opset(proto, labels.opset)

    def why(value: Value, to_narrow: bool) -> str:
        return _why(value, to_narrow, plan, fixed)

    casting = Casting(proto, plan, format_, source.raw.tensors, lambda name: name in ranges.clamped, why)
    casting.apply()
    conversion = _described(request, model, labels, plan, fixed, casting.casts, ranges, found)
    _note(proto, conversion)
    converted = Converted(proto, tuple(casting.made), source.raw.tensors, format_)
    return Draft(conversion, converted, external, source)


def _described(
    request: Request,
    model: Model,
    labels: Labels,
    plan: TypePlan,
    fixed: Mapping[Node, str],
    casts: Sequence[CastAdded],
    ranges: Range,
    found: Found,
) -> Conversion:
    total = sum(flops(node) for node in labels.nodes)
    narrow = sum(flops(node) for node in labels.nodes if node in plan.narrow)
    kept = [
        Kept(
            node.path,
            node.op,
            fixed.get(node, "a Cast would cost more"),
            is_product(node),
            flops(node) / total if total else 0.0,
        )
        for node in labels.nodes
        if node not in plan.narrow and _could_change(node, labels.ports)
    ]
    return Conversion(
        path=str(request.model),
        output="",
        type=request.type,
        io=request.io,
        operators=len(labels.nodes),
        narrow=sum(node in plan.narrow for node in labels.nodes),
        share=narrow / total if total else None,
        kept=tuple(kept),
        casts=tuple(casts),
        stored=tuple(ranges.stored),
        opset=(model.opset or 1, max(labels.opset, model.opset or 1)),
        ranges=found.ranges,
        islands=tuple(_island(each.kind, each.nodes, plan, request.type) for each in labels.islands),
        error=found.error,
        notes=(*model.notes, *labels.notes, *found.notes),
    )


def _island(kind: str, nodes: frozenset[Node], plan: TypePlan, type_: str) -> Island:
    own = sorted((node for node in nodes if uses_floats(node)), key=lambda node: node.index)
    narrow = sum(node in plan.narrow for node in own)
    shown = type_ if narrow == len(own) else "mixed" if narrow else "fp32"
    first = own[0] if own else min(nodes, key=lambda node: node.index)
    return Island(kind, first.path, len(nodes), shown)


def _could_change(node: Node, ports: Mapping[Node, Ports]) -> bool:
    found = ports.get(node)
    if found is None:
        return True
    reads = any(found.reads_narrow(port) and _is_float(value) for port, value in enumerate(node.inputs))
    return reads or any(
        found.writes_narrow(port) and _is_float(value) for port, value in enumerate(node.outputs)
    )


def _is_float(value: Value | None) -> bool:
    return value is not None and value.dtype == "f32"


def _why(value: Value, to_narrow: bool, plan: TypePlan, fixed: Mapping[Node, str]) -> str:
    """Return why a value is cast."""
    if value.is_input:
        return "the model's input stays in FP32" if to_narrow else "an operator in FP32 reads the input"
    if not to_narrow and value.is_output and value.producer is not None:
        return "the model's output stays in FP32"
    around: list[Node] = [node for node, _ in value.uses]
    if value.producer is not None:
        around.insert(0, value.producer)
    for node in around:
        if node in fixed and node not in plan.narrow:
            return f"{node.path}: {fixed[node]}"
    return "operators around it have different types"


def _raise_opset(proto: onnx.ModelProto, opset: int) -> None:
    for entry in proto.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = max(entry.version, opset)


def _note(proto: onnx.ModelProto, found: Conversion) -> None:
    """Say in the metadata of a model what was done to it."""
    value = {
        "type": found.type,
        "io": found.io,
        "source": Path(found.path).name,
        "share": found.share,
        "kept": [[kept.node, kept.reason] for kept in found.kept],
        "casts": len(found.casts),
    }
    proto.metadata_props.add(key=KEY, value=json.dumps(value))
