"""Verify a fixed model: compare the whole model with the original model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from trtlint.compare.comparison import Pair
from trtlint.files.temporary import temporary_file
from trtlint.fixes import verification
from trtlint.fixes.keep_fp32 import TITLE as KEPT
from trtlint.fixes.patch import Patch
from trtlint.fixes.source import SourceModel
from trtlint.fixes.verification import CheckResult
from trtlint.model.datafile import copy_data
from trtlint.model.writer import write_to

if TYPE_CHECKING:
    from trtlint.commands.fix import FixOptions


class Verifier:
    """Compares rewritten versions of a model (candidates) with the original model.

    Args:
        source: the original model.
        out: the file of the fixed model.  Candidates are written to the same folder.
        options: the options of the command.
        sm: compute capability of the GPU to build for, such as 89 for 8.9; None for any GPU.
    """

    def __init__(self, source: SourceModel, out: Path, options: FixOptions, sm: int | None) -> None:
        self._source = source
        self._out = out
        self._options = options
        self._sm = sm
        self._found: list[tuple[onnx.ModelProto, tuple[CheckResult, ...]]] = []

    def check(self, proto: onnx.ModelProto, patches: Sequence[Patch]) -> str:
        """Return how a rewritten model is worse than the original model.

        The result is an empty string if the rewritten model is not worse.

        Raises:
            InputsError: the inputs of the user cannot be used.
            ModelError: the original file changed after it was read, or its external data cannot be read.
            OSError: the rewritten model cannot be written.
        """
        with self._trial(proto) as trial:
            verdicts = tuple(self._verdicts(trial, patches))
        self._found.append((proto, verdicts))
        worse = [f"{each.check}: {each.words}" for each in verdicts if each.good is False]
        return f"with this rewrite, a check of the whole model fails ({'; '.join(worse)})" if worse else ""

    @contextmanager
    def _trial(self, proto: onnx.ModelProto) -> Iterator[Path]:
        """Write a rewritten model to a temporary file that can read its external data."""
        folder, tensors = self._out.parent, self._source.raw.tensors
        with ExitStack() as files:
            try:
                if not self._source.has_data_beside(self._out):
                    data = files.enter_context(temporary_file(folder))
                    with data.open("wb") as file:
                        proto = copy_data(proto, tensors, file, data.name)
                trial = files.enter_context(temporary_file(folder, ".trial.onnx"))
                with trial.open("wb") as file:
                    write_to(file, proto, tensors)
            except OSError as error:
                reason = f"the fixed model cannot be written: {error.strerror or error}"
                raise OSError(error.errno, reason) from error
            yield trial

    def verdicts(self, proto: onnx.ModelProto) -> tuple[CheckResult, ...]:
        """Return the results of all checks of a rewritten model.

        The result is empty if :meth:`check` has not checked this model yet.
        """
        return next((verdicts for form, verdicts in reversed(self._found) if form is proto), ())

    def _verdicts(self, after: Path, patches: Sequence[Patch]) -> Iterator[CheckResult]:
        before = self._source.path
        if self._options.verify:
            pair = Pair(
                before,
                after,
                self._options.inputs,
                # If a fix keeps nodes in FP32, the original model may overflow in its own types.
                wide=any(patch.title == KEPT for patch in patches),
                ignore_nan=any(patch.changes_results for patch in patches),
                keep_a_key=any(patch.keeps_a_key for patch in patches),
                timed=True,
            )
            yield verification.outputs(pair)
        if self._options.verify_build:
            yield verification.build(before, after, self._sm)
            found = verification.network(before, after, self._options.inputs)
            if found is not None:
                yield found
