"""The facts of one model, computed on demand."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from trtlint.facts.base import Fact
from trtlint.facts.kinds import Ground, ground_of, grounds, is_available, module_of
from trtlint.model.absent import empty_model
from trtlint.model.load import Model
from trtlint.model.walks import cut_short, watching

if TYPE_CHECKING:
    from trtlint.buildcommand import BuildCommand
    from trtlint.buildfiles.join import Join, NodeNames
    from trtlint.buildfiles.record import BuildRecord
    from trtlint.dry_build.result import DryBuild
    from trtlint.facts.blocks.sizes import Sizes
    from trtlint.facts.node_evidence import NodeEvidence
    from trtlint.measurement.measurement import Measurement
    from trtlint.model.graph import Node


_Data = TypeVar("_Data")


class Known(Protocol):
    """Evidence, such as a build log or a measurement, from which facts are derived."""

    @property
    def grounds(self) -> frozenset[Ground]:
        """The kinds of sources (grounds, such as ``build``) that this evidence adds."""

    @property
    def data(self) -> object:
        """The data; None without data."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the evidence was read from."""


class Facts:
    """The facts of one model.  Each kind is computed once, on demand.

    Args:
        model: the model; None if there are only files of a build.
        command: the build command; None if unknown.
        evidence: files of a build, and results of a dry build, a measurement or another experiment.
        weights: whether to read all weights.  This takes as long as reading the file.
    """

    def __init__(
        self,
        model: Model | None,
        *,
        command: BuildCommand | None = None,
        evidence: Iterable[Known] = (),
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
        """Return the available sources of facts (grounds), such as ``model`` and ``build``."""
        return grounds(
            model=self.has_model,
            build=self.record is not None,
            command=self.command is not None,
            trial=any("trial" in each.grounds for each in self.evidence),
            weights=self.reads_weights,
            torch=any("torch" in each.grounds for each in self.evidence),
            network=any("network" in each.grounds for each in self.evidence),
        )

    def data(self, type_: type[_Data]) -> _Data | None:
        """Return the data of one kind of evidence; None without it."""
        return next((each.data for each in self.evidence if isinstance(each.data, type_)), None)

    @cached_property
    def dry(self) -> DryBuild | None:
        """The dry build; None if there is none, or if a real build was given."""
        from trtlint.dry_build.result import DryBuild

        return None if not self.evidence or self._real is not None else self.data(DryBuild)

    @cached_property
    def record(self) -> BuildRecord | None:
        """The files of the real build; without a real build, the log of the dry build."""
        return self._real if self.dry is None else self.dry.record

    @cached_property
    def _real(self) -> BuildRecord | None:
        if not self.evidence:
            return None
        from trtlint.buildfiles.record import BuildRecord

        return self.data(BuildRecord)

    @property
    def measurement(self) -> Measurement | None:
        """The measurement of the model; None without one."""
        if not self.evidence:
            return None
        from trtlint.measurement.measurement import Measurement

        return self.data(Measurement)

    def _absent(self) -> Model:
        """Return the model without an ONNX file: the network of another compiler, or an empty model."""
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
        """Return whether a kind has a fact."""
        return is_available(kind, self.grounds) and bool(self.of(kind))

    def of(self, kind: str) -> tuple[Fact, ...]:
        """Return all facts of a kind, in graph order.

        Raises:
            KeyError: no such kind.
        """
        if kind not in self._found:
            missing = {"build", "command", "trial", "weights", "torch"} - self.grounds
            with watching() as watch:
                self._found[kind] = () if ground_of(kind) in missing else tuple(module_of(kind).find(self))
            if watch.cut:
                self._cut.add(kind)
        elif kind in self._cut:
            cut_short()
        return self._found[kind]

    def searched(self, kind: str) -> bool:
        """Return whether the search for a kind of facts was complete, without reaching a limit."""
        if is_available(kind, self.grounds):
            self.of(kind)
        return kind not in self._cut

    @cached_property
    def sizes(self) -> Sizes:
        """Sizes of tensors at the largest shapes of the build."""
        from trtlint.facts.blocks.sizes import Sizes

        return Sizes(self.model, self.command)

    @cached_property
    def imported(self) -> tuple[Node, ...]:
        """The operators that TensorRT's parser imports, in graph order."""
        from trtlint.model.imported import imported_nodes

        return imported_nodes(self.model.graph, self.model.constants)

    @cached_property
    def built(self) -> frozenset[Node]:
        """The imported operators that an output depends on; the builder drops all others."""
        from trtlint.model.imported import needed_nodes

        return needed_nodes(self.model.graph, self.model.constants, self.imported)

    @cached_property
    def names(self) -> NodeNames:
        """Finder of nodes by the names that the build prints."""
        from trtlint.buildfiles.join import NodeNames

        return NodeNames(self.model.graph, None if self.record is None else self.record.log)

    @cached_property
    def of_another_model(self) -> bool:
        """True if the log names nodes and the model has none of them."""
        from trtlint.buildfiles.join import is_of_another_model

        if self.record is None or self.record.log is None or not self.has_model:
            return False
        return is_of_another_model(self.record.log, self.names)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about missing data on the model and its build."""
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
        """Messages and engine layers of the build, by node."""
        from trtlint.facts.node_evidence import node_evidence

        return node_evidence(self)

    @cached_property
    def joined(self) -> Join | None:
        """The engine's layers with their nodes; None if no layers are known."""
        from trtlint.buildfiles.join import join

        if self.record is None or self.record.layers is None:
            return None
        return join(self.record.layers, self.names, self.record.log)
