"""Convert a model: choose the types, change the model, and check the result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from trtlint.conversion.casting import ModelCaster
from trtlint.conversion.cut import CutProblem, narrow_nodes
from trtlint.conversion.fixed import uses_floats
from trtlint.conversion.known import copying, known_numbers
from trtlint.conversion.labels import Labels
from trtlint.conversion.layertypes import LayerTypes
from trtlint.conversion.measuring import KeepSearchResult, search_in_process
from trtlint.conversion.narrowports import Ports, narrow_values
from trtlint.conversion.result import KEY, Conversion, IslandSummary, KeptOperator
from trtlint.conversion.stored import ranges_of
from trtlint.conversion.typing_plan import TypePlan, boundary_values
from trtlint.conversion.weight import flops, is_product
from trtlint.conversion.writing import ConvertedModel, is_external, require_writable, write
from trtlint.files.limits import limit_work
from trtlint.fixes.edit import set_opset
from trtlint.fixes.keep_fp32 import NARROW
from trtlint.fixes.patch import opset_of
from trtlint.fixes.source import SourceModel, read_source
from trtlint.measurement.choosing import find_choices, notes
from trtlint.measurement.formats import FORMATS
from trtlint.measurement.inputs import Inputs
from trtlint.model.graph import Node
from trtlint.model.load import interpret, undeclared
from trtlint.model.protos import text

if TYPE_CHECKING:
    import onnx

Listen = Callable[[str], None]


class ConversionRequest(Struct, frozen=True):
    """Settings of a conversion.

    Attributes:
        model: the file.
        type: ``fp16`` or ``bf16``.
        io: the type of inputs and outputs: ``fp32``, or the same as ``type``.
        inputs: the user's inputs. They are used to find operators that need FP32, and to check the result.
            Empty for generated inputs.
        keep: nodes, operator types or names with ``*`` that stay in FP32.
        tolerance: the largest allowed error of an output.
        measure: true to run the model in ONNX Runtime.
        build: true to build the source and the result with TensorRT-RTX.
        seconds: the time limit of each process that runs ONNX Runtime. If None, these processes together
            have one time limit, and the size of the model decides this limit.
        memory: the memory limit in bytes; None for a limit that depends on the size of the model.
        layers: the data types that a weakly typed build sets for layers; None if the build sets none.
        until: the deadline of all runs, by ``time.monotonic``; None without a deadline.
        size: the size of the model in bytes, including its external data; the session sets this field.
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
    until: float | None = None
    size: int = 0


class PendingConversion(Struct, frozen=True):
    """A converted model before it is written.

    Attributes:
        conversion: the description of the result.
        converted: the ONNX protobuf of the converted model, and its large tensors; None if nothing changes.
        source: the model as it was read.
    """

    conversion: Conversion
    converted: ConvertedModel | None
    source: SourceModel

    def write(self, out: Path, protected: Sequence[Path] = ()) -> tuple[int, int]:
        """Write the model, and return the sizes of the source and of the result in bytes.

        Raises:
            ModelError: the source changed.
            OSError: a file cannot be read or written, or ``out`` contains external data of the source.
        """
        assert self.converted is not None
        external = is_external(self.source.proto)
        size = write(self.converted, out, (*protected, *self.source.files), external=external)
        return self.source.raw.tensors.size + self.source.external, size


class RewrittenDraft(Struct, frozen=True):
    """A model after rewrites that do not change the FP32 results.

    Attributes:
        source: the rewritten model. Its large tensors are read from the user's file.
        file: file with the rewritten model, for ONNX Runtime.
        titles: the rewrites in words.
    """

    source: SourceModel
    file: Path
    titles: tuple[str, ...]


class ConversionSession:
    """The conversion of one model.

    The session chooses types and changes the model. If a check fails, the session chooses other types.

    Args:
        request: the model and the settings of the conversion.
        listen: function that receives the current step.
        rewritten: the rewritten model; None to convert the model of the request.

    Raises:
        ConversionError: the model cannot be converted.
        ModelError, OSError: the model cannot be read.
        KeepError: a pattern of operators to keep matches nothing.
    """

    def __init__(
        self,
        request: ConversionRequest,
        listen: Listen | None = None,
        rewritten: RewrittenDraft | None = None,
    ) -> None:
        self.measured = request.model if rewritten is None else rewritten.file
        self.rewrites = () if rewritten is None else rewritten.titles
        self.listen = listen or (lambda _: None)
        self.found = KeepSearchResult()
        self.listen("reading")
        self.source = read_source(request.model) if rewritten is None else rewritten.source
        self.request = replace(request, size=self.source.raw.tensors.size + self.source.external)
        with limit_work(request.model, allowance=self.source.allowance()):
            data, declared = undeclared(self.source.proto)
            self.model = interpret(request.model, data, self.source.raw.tensors, declared)
            require_writable(self.source.proto)
            self.unchanged = ""
            if KEY in self.model.metadata:
                self.unchanged = "trtlint has already converted this model"
                return
            self.labels = Labels(self.model, request.type, request.keep, request.layers)
            if all(node in self.labels.fixed for node in self.labels.nodes):
                reason = "the model has no FP32 operator whose type may change"
                values = chain.from_iterable(self.model.graph.values.values())
                if any(value.dtype in NARROW for value in values):
                    reason += (
                        "; for a model that already has 16-bit types, use trtlint measure and trtlint fix"
                    )
                self.unchanged = "; ".join((reason, *self.labels.notes))
                return
            self.ranges = ranges_of(self.model, self.labels, FORMATS[request.type])
            self.labels.fixed.update(
                (node, reason) for node, reason in self.ranges.fixed.items() if node not in self.labels.forced
            )

    def measure(self, attempt: int = 0) -> None:
        """Find the operators whose numbers need FP32.

        Args:
            attempt: number of earlier searches; the results of all of them failed their checks.

        Raises:
            InputsError: the inputs cannot be used.
            ConversionNeedsRuntimeError: ONNX Runtime is not installed.
        """
        if self.request.measure:
            self.found = search_in_process(
                self.request, self.measured, self.labels, self.ranges, self.listen, attempt, self.found
            )
        else:
            self.found = KeepSearchResult(self.ranges.kept)

    def pin(self, names: Iterable[str], reason: str) -> bool:
        """Keep the nodes with the given names in FP32.

        Args:
            names: the names of the nodes.
            reason: the reason to report.

        Returns:
            True if this call keeps at least one additional node in FP32.
        """
        wanted = set(names)
        new = [
            node
            for node in self.labels.nodes
            if node not in self.labels.fixed and wanted & {node.path, text(node.proto.name)}
        ]
        self.labels.fixed.update(dict.fromkeys(new, reason))
        return bool(new)

    def draft(self, *, kept: bool = True) -> PendingConversion:
        """Convert the model in memory.

        Args:
            kept: true to keep operators in FP32 if their numbers require this, false to convert these
                operators, too.
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
            return PendingConversion(done, None, self.source)
        return self._converted(self.found if kept else KeepSearchResult())

    def _converted(self, found: KeepSearchResult) -> PendingConversion:
        """Choose the types of all operators, convert the model in memory, and describe the result."""
        import onnx

        labels = self.labels
        format_ = FORMATS[self.request.type]
        fixed = labels.fixed_with(found.kept)
        loose = copying(labels.kept_for_numbers(found.kept), labels.ports)
        known = known_numbers(self.model)
        narrow_io = self.request.io != "fp32"
        problem = CutProblem(
            nodes=labels.nodes,
            ports=labels.ports,
            fixed=frozenset(fixed) - loose,
            groups=labels.together(fixed),
            narrow_io=narrow_io,
            boundary=boundary_values(self.model.graph),
            forced=labels.forced,
            preferred=labels.preferred,
            copying=loose,
            known=known,
        )
        narrow = {node for node in narrow_nodes(problem) if node in labels.ports}
        plan = TypePlan(self.model.graph, narrow, labels.ports, narrow_io=narrow_io)
        proto = onnx.ModelProto()
        proto.CopyFrom(self.source.proto)
        set_opset(proto, labels.opset)
        tensors = self.source.raw.tensors
        casting = ModelCaster(proto, plan, format_, tensors, self.ranges.clamped, fixed, known)
        casting.apply()
        conversion = self._described(plan, fixed, casting, found)
        _describe_in_metadata(proto, conversion)
        converted = ConvertedModel(proto, tuple(casting.made), tensors, format_)
        return PendingConversion(conversion, converted, self.source)

    def _described(
        self, plan: TypePlan, fixed: Mapping[Node, str], casting: ModelCaster, found: KeepSearchResult
    ) -> Conversion:
        request, model, labels = self.request, self.model, self.labels
        total = sum(flops(node) for node in labels.nodes)
        narrow = sum(flops(node) for node in labels.nodes if node in plan.narrow)
        kept = [
            KeptOperator(
                node.path,
                node.op,
                fixed.get(node, "the Casts around the operator would cost more time than 16 bits save"),
                is_product(node),
                flops(node) / total if total else 0.0,
            )
            for node in labels.nodes
            if node not in plan.narrow and _could_change(node, labels.ports)
        ]
        choices = notes(find_choices(model.graph, opset_of(model))) if request.measure else []
        return Conversion(
            path=str(request.model),
            output="",
            type=request.type,
            io=request.io,
            operators=len(labels.nodes),
            narrow=sum(node in plan.narrow for node in labels.nodes),
            share=narrow / total if total else None,
            kept=tuple(kept),
            casts=tuple(casting.casts),
            stored=tuple(
                each if each.tensor in casting.rounded else replace(each, what="kept")
                for each in self.ranges.stored
            ),
            opset=(opset_of(model), labels.opset),
            ranges=found.ranges,
            islands=tuple(_island(each.kind, each.nodes, plan, request.type) for each in labels.islands),
            rewrites=self.rewrites,
            error=found.error,
            notes=(*model.notes, *labels.notes, *found.notes, *choices),
        )


def _island(kind: str, nodes: frozenset[Node], plan: TypePlan, type_: str) -> IslandSummary:
    own = sorted((node for node in nodes if uses_floats(node)), key=lambda node: node.index)
    narrow = sum(node in plan.narrow for node in own)
    shown = type_ if narrow == len(own) else "mixed" if narrow else "fp32"
    first = own[0] if own else min(nodes, key=lambda node: node.index)
    return IslandSummary(kind, first.path, len(nodes), shown)


def _could_change(node: Node, ports: Mapping[Node, Ports]) -> bool:
    found = ports.get(node)
    return found is None or any(narrow_values(node, found))


def _describe_in_metadata(proto: onnx.ModelProto, found: Conversion) -> None:
    value = {
        "type": found.type,
        "io": found.io,
        "source": Path(found.path).name,
        "share": found.share,
        "kept": [[kept.node, kept.reason] for kept in found.kept],
        "casts": len(found.casts),
    }
    proto.metadata_props.add(key=KEY, value=json.dumps(value))
