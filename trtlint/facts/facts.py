"""Compute the facts of one model on demand."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from trtlint.buildcommand import BuildCommand
from trtlint.facts.base import Fact
from trtlint.facts.blocks.sizes import Sizes
from trtlint.facts.kinds import Ground, available_grounds, ground_of, is_available, module_of
from trtlint.model.graph import Node
from trtlint.model.imported import imported_nodes, needed_nodes
from trtlint.model.load import Model, empty_model
from trtlint.model.walks import cut_short, watching

if TYPE_CHECKING:
    from trtlint.buildfiles.join import Join, NodeNames
    from trtlint.buildfiles.record import BuildRecord
    from trtlint.dry_build.result import DryBuild
    from trtlint.facts.node_evidence import NodeEvidence
    from trtlint.measurement.measurement import Measurement

_Data = TypeVar("_Data")


class FactSource(Protocol):
    """Interface of the evidence from which trtlint computes facts, such as a build log or a measurement."""

    @property
    def grounds(self) -> frozenset[Ground]:
        """The sources of facts (such as ``build``) that this evidence provides."""

    @property
    def data(self) -> object:
        """The object that holds the evidence, such as a dry build, or None if there is none."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that contain the evidence."""


class Facts:
    """The facts of one model.  Each kind is computed when it is first requested, and then cached.

    Args:
        model: the model; None if the user gave only files of a build.
        command: the build command; None if unknown.
        evidence: files of a build, and results of a dry build, a measurement or another experiment.
        weights: whether to read all weights.  Reading all weights takes as long as reading the whole file.
    """

    def __init__(
        self,
        model: Model | None,
        *,
        command: BuildCommand | None = None,
        evidence: Iterable[FactSource] = (),
        weights: bool = False,
    ) -> None:
        self.has_model = model is not None
        self.evidence = tuple(evidence)
        self.command = command
        self.reads_weights = weights
        self.model = self._absent() if model is None else model
        self._found: dict[str, tuple[Fact, ...]] = {}
        self._cut: set[str] = set()

    @property
    def grounds(self) -> frozenset[Ground]:
        """The available sources of facts, such as ``model`` and ``build``."""
        return available_grounds(
            (each.grounds for each in self.evidence),
            model=self.has_model,
            command=self.command is not None,
            weights=self.reads_weights,
        )

    def data(self, type_: type[_Data]) -> _Data | None:
        """Return the evidence of type ``type_``, such as a dry build, or None if there is none."""
        return next((each.data for each in self.evidence if isinstance(each.data, type_)), None)

    @cached_property
    def dry(self) -> DryBuild | None:
        """The dry build of the model.

        The value is None if there was no dry build, or if the user gave the files of a real build.
        """
        from trtlint.dry_build.result import DryBuild

        return None if not self.evidence or self._real is not None else self.data(DryBuild)

    @cached_property
    def record(self) -> BuildRecord | None:
        """The files of the real build, or the log of the dry build if no files of a real build were given."""
        return self._real if self.dry is None else self.dry.record

    @cached_property
    def _real(self) -> BuildRecord | None:
        if not self.evidence:
            return None
        from trtlint.buildfiles.record import BuildRecord

        return self.data(BuildRecord)

    @property
    def measurement(self) -> Measurement | None:
        """The measurement of the model's tensors, or None if there is none."""
        if not self.evidence:
            return None
        from trtlint.measurement.measurement import Measurement

        return self.data(Measurement)

    def _absent(self) -> Model:
        """Return the model to use if the user gave no ONNX file.

        The result is the network that Torch-TensorRT makes, or an empty model if there is no such network.
        """
        if "network" in self.grounds and (network := self._network()) is not None:
            return network
        files = () if self.record is None else self.record.files
        files = files or tuple(file for each in self.evidence for file in each.files)
        return empty_model(Path(files[0] if files else ""))

    def _network(self) -> Model | None:
        from trtlint.torch_tensorrt.network import network_model
        from trtlint.torch_tensorrt.program import Program

        program = self.data(Program)
        if program is None or program.run is None:
            return None
        return network_model(program.run.graphs, Path(program.path))

    def has(self, kind: str) -> bool:
        """Return whether there is at least one fact of a kind."""
        return is_available(kind, self.grounds) and bool(self.of(kind))

    def of(self, kind: str) -> tuple[Fact, ...]:
        """Return all facts of a kind, such as ``attention``, in graph order.

        Raises:
            KeyError: no such kind.
        """
        if kind not in self._found:
            # Without a model from the user, self.model is a network or an empty model.
            there = ground_of(kind) in self.grounds | {"model"}
            with watching() as watch:
                self._found[kind] = tuple(module_of(kind).find(self)) if there else ()
            if watch.cut:
                self._cut.add(kind)
        elif kind in self._cut:
            cut_short()
        return self._found[kind]

    def searched(self, kind: str) -> bool:
        """Return True if the search for the facts of a kind finished, or False if it stopped at a limit."""
        if is_available(kind, self.grounds):
            self.of(kind)
        return kind not in self._cut

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of tensors at the largest shapes in the build command."""
        return Sizes(self.model, self.command)

    @cached_property
    def imported(self) -> tuple[Node, ...]:
        """In graph order, the nodes that TensorRT's parser imports."""
        return imported_nodes(self.model.graph, self.model.constants)

    @cached_property
    def built(self) -> frozenset[Node]:
        """The imported nodes that affect an output.  The builder removes the remaining nodes."""
        return needed_nodes(self.model.graph, self.model.constants, self.imported)

    @cached_property
    def names(self) -> NodeNames:
        """An index that finds nodes of the model by the names that TensorRT prints during the build."""
        from trtlint.buildfiles.join import NodeNames

        return NodeNames(self.model.graph, None if self.record is None else self.record.log)

    @cached_property
    def of_another_model(self) -> bool:
        """True if the build log names nodes, but none of these nodes is in the model."""
        from trtlint.buildfiles.join import is_of_another_model

        if self.record is None or self.record.log is None or not self.has_model:
            return False
        return is_of_another_model(self.record.log, self.names)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user about missing or ignored data, in the model or in the files of a build."""
        if self.record is None:
            return self.model.notes
        notes = (*self.model.notes, *self.record.notes)
        if not self.of_another_model:
            return notes
        log = self.record.log_name
        return (
            *notes,
            f"{log}: the log names no node of this model, so trtlint ignores the log for this model",
        )

    @cached_property
    def node_evidence(self) -> NodeEvidence:
        """The log messages and engine layers of the build, by ONNX node."""
        from trtlint.facts.node_evidence import node_evidence

        return node_evidence(self)

    @cached_property
    def joined(self) -> Join | None:
        """The engine's layers with the ONNX nodes that each layer computes.

        The value is None if no file lists the layers.
        """
        from trtlint.buildfiles.join import join

        if self.record is None or self.record.layers is None:
            return None
        return join(self.record.layers, self.names, self.record.log)
