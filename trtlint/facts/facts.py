"""The facts of one model, found when asked for."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.facts.base import Fact
from trtlint.facts.kinds import Ground, ground_of, grounds, module_of
from trtlint.model.absent import absent
from trtlint.model.load import Model

if TYPE_CHECKING:
    from trtlint.buildcommand import BuildCommand
    from trtlint.buildfiles.join import Join, NodeNames
    from trtlint.buildfiles.record import BuildRecord
    from trtlint.facts.blocks.sizes import Sizes
    from trtlint.facts.said import Said
    from trtlint.facts.trials import Trials
    from trtlint.measure.measurement import Measurement
    from trtlint.model.graph import Node


class Facts:
    """The facts of one model, each kind found once and only when asked for.

    Args:
        model: the model, None where only what a build of it left behind is known.
        command: the command line that it is built with, None where it is not known.
        record: what a build of it has left behind, None where there is nothing.
        trials: what was found out of it by running it; without a record, the log of a dry build is one.
        weights: whether all weights may be read, which takes as long as reading the file does.
    """

    def __init__(
        self,
        model: Model | None,
        *,
        command: BuildCommand | None = None,
        record: BuildRecord | None = None,
        trials: Trials | None = None,
        weights: bool = False,
    ) -> None:
        self.has_model = model is not None
        files = () if record is None else record.files
        self.model = absent(Path(files[0] if files else "")) if model is None else model
        self.command = command
        self.trials = trials
        self.reads_weights = weights
        self.dry = None if trials is None or record is not None else trials.dry
        self.record = record if self.dry is None else self.dry.record
        self._found: dict[str, tuple[Fact, ...]] = {}

    @property
    def grounds(self) -> frozenset[Ground]:
        """What there is to find facts in."""
        return grounds(
            model=self.has_model,
            build=self.record is not None,
            command=self.command is not None,
            trial=self.trials is not None,
            weights=self.reads_weights,
        )

    @property
    def measurement(self) -> Measurement | None:
        """What was measured of the model, None where nothing was."""
        return None if self.trials is None else self.trials.measurement

    @property
    def witnessed(self) -> bool:
        """Whether there is something that may confirm or refute what rules find in the model."""
        return self.record is not None or self.trials is not None

    def of(self, kind: str) -> tuple[Fact, ...]:
        """All facts of a kind, in graph order.

        Raises:
            KeyError: no such kind.
        """
        if kind not in self._found:
            missing = {"build", "command", "trial", "weights"} - self.grounds
            self._found[kind] = () if ground_of(kind) in missing else tuple(module_of(kind).find(self))
        return self._found[kind]

    @cached_property
    def sizes(self) -> Sizes:
        """Sizes of tensors at the largest shapes that are built for."""
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
        from trtlint.model.imported import needed

        return needed(self.model.graph, self.model.constants, self.imported)

    @cached_property
    def names(self) -> NodeNames:
        """Finds nodes by the names that the build prints."""
        from trtlint.buildfiles.join import NodeNames

        return NodeNames(self.model.graph, None if self.record is None else self.record.log)

    @cached_property
    def of_another_model(self) -> bool:
        """Whether the log of the build names nodes, and this model has none of them."""
        from trtlint.buildfiles.join import is_of_another_model

        if self.record is None or self.record.log is None or not self.has_model:
            return False
        return is_of_another_model(self.record.log, self.names)

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits what is known of the model and its build."""
        if self.record is None:
            return self.model.notes
        notes = (*self.model.notes, *self.record.notes)
        if not self.of_another_model:
            return notes
        log = self.record.log_name
        return (
            *notes,
            f"{log}: no node that it names is in this model, so that nothing in it counts for this one",
        )

    @cached_property
    def said(self) -> Said:
        """What the build says, by the nodes that it says it of."""
        from trtlint.facts.said import said

        return said(self)

    @cached_property
    def joined(self) -> Join | None:
        """The engine's layers and the nodes that are in them; None where no layers are known."""
        from trtlint.buildfiles.join import join

        if self.record is None or self.record.layers is None:
            return None
        return join(self.record.layers, self.names, self.record.log)
