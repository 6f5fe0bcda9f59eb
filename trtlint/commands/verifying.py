"""The checks of a whole fixed model, and the files that they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import onnx

from trtlint.commands.fixrequest import FixOptions
from trtlint.files.temporary import temporary_file
from trtlint.fixes import verification
from trtlint.fixes.keeping import TITLE as KEPT
from trtlint.fixes.patch import Patch
from trtlint.fixes.source import Source
from trtlint.fixes.verification import Verdict
from trtlint.model.writer import write_to


class Verifier:
    """Compares fixed forms of one model with it.

    Args:
        source: the model.
        out: where the fixed model goes; its forms are written beside it, where their external data lie.
        options: what was asked for.
        sm: the compute capability to build for, None for any.
    """

    def __init__(self, source: Source, out: Path, options: FixOptions, sm: int | None) -> None:
        self._source = source
        self._out = out
        self._options = options
        self._sm = sm
        self._found: list[tuple[onnx.ModelProto, tuple[Verdict, ...]]] = []

    def check(self, proto: onnx.ModelProto, patches: Sequence[Patch]) -> str:
        """Say what is worse of a fixed form; nothing where nothing is.

        Raises:
            click.UsageError: its external data lie elsewhere.
            InputsError: the user's inputs cannot be used.
            ModelError: the source changed meanwhile.
            OSError: the form cannot be written.
        """
        require_weights(self._source, self._out)
        with temporary_file(self._out.parent, ".trial.onnx") as trial:
            try:
                with trial.open("wb") as file:
                    write_to(file, proto, self._source.raw.tensors)
            except OSError as error:
                reason = f"the fixed model cannot be written: {error.strerror or error}"
                raise OSError(error.errno, reason) from error
            verdicts = tuple(self._verdicts(trial, patches))
        self._found.append((proto, verdicts))
        worse = [f"{each.check}: {each.words}" for each in verdicts if each.good is False]
        return f"with it, the whole model is worse ({'; '.join(worse)})" if worse else ""

    def verdicts(self, proto: onnx.ModelProto) -> tuple[Verdict, ...]:
        """What was found of a form; none where it was not checked."""
        return next((verdicts for form, verdicts in reversed(self._found) if form is proto), ())

    def _verdicts(self, after: Path, patches: Sequence[Patch]) -> Iterator[Verdict]:
        before = self._source.path
        if self._options.verify:
            yield verification.outputs(
                before,
                after,
                self._options.inputs,
                # What is kept in FP32 leaves the range in the source: there they are to differ.
                wide=any(patch.title == KEPT for patch in patches),
                mended=any(patch.mends for patch in patches),
                keyed=any(patch.keeps_a_key for patch in patches),
                timed=True,
            )
        if self._options.verify_build:
            yield verification.build(before, after, self._sm)
            found = verification.network(before, after, self._options.inputs)
            if found is not None:
                yield found


def require_weights(source: Source, out: Path) -> None:
    """Refuse to write a model where its external data do not lie.

    Raises:
        click.UsageError: it is to be.
    """
    outside = source.raw.tensors.locations
    if outside and out.parent.resolve() != source.path.parent.resolve():
        raise click.UsageError(
            f"the weights are in {outside[0]!r} beside the model; write the fixed one to {source.path.parent}"
        )
