"""Use a Python script as evidence: its calls of Torch-TensorRT, their arguments and the release."""

from __future__ import annotations

from pathlib import Path

from trtlint.engine.evidence.torch import TorchEvidence
from trtlint.engine.finding import EvidenceSummary
from trtlint.torch_tensorrt.calls import read_script, script_in
from trtlint.torch_tensorrt.script import TorchScript


class TorchScriptEvidence(TorchEvidence, frozen=True):
    """A Python script with calls of Torch-TensorRT, as evidence.

    Attributes:
        script: the calls, and the release of Torch-TensorRT that they are for.
    """

    script: TorchScript

    @property
    def files(self) -> tuple[str, ...]:
        """The file of the script."""
        return (self.script.path,)

    def form(self, path: str) -> str:  # noqa: ARG002
        """Return the kind of the file for reports."""
        return "script"

    @property
    def data(self) -> TorchScript:
        """The calls of Torch-TensorRT in the script."""
        return self.script

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about calls that were not checked."""
        script = self.script
        if not script.calls:
            return (
                "the script contains no call of torch_tensorrt.compile or another compiler "
                "function of Torch-TensorRT",
            )
        judged = {id(call) for call in script.judged}
        return tuple(
            f"line {call.line}: not checked: {_reason(call.ir)}"
            for call in script.calls
            if id(call) not in judged
        )

    @property
    def summary(self) -> EvidenceSummary:
        """The release of Torch-TensorRT and the calls, for reports."""
        script = self.script
        calls = [
            {
                "function": call.function,
                "ir": call.ir,
                "line": call.line,
                "arguments": [each.name for each in call.arguments],
                "complete": call.complete,
            }
            for call in script.calls
        ]
        return EvidenceSummary.of(self.kind, {"release": script.release, "calls": calls})


def script_evidence(path: Path, release: str) -> TorchScriptEvidence:
    """Return the calls of a script as evidence.

    Raises:
        PythonScriptError: the file is not Python.
        OSError: the file cannot be read.
    """
    return TorchScriptEvidence(TorchScript(str(path), release, *read_script(path)))


def text_evidence(text: str, name: str, release: str) -> TorchScriptEvidence:
    """Return the calls in a Python text as evidence.

    Raises:
        PythonScriptError: the text is not Python.
    """
    return TorchScriptEvidence(TorchScript(name, release, *script_in(text)))


def _reason(ir: str | None) -> str:
    if ir is None:
        return "the argument ir is not a literal in this file"
    return "trtlint knows only the arguments of the Dynamo front end, not of TorchScript and FX"
