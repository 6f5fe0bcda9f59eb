"""Use a script or an exported program for Torch-TensorRT as evidence.

A script provides its calls.  An exported program provides its operators, and the result of a dry run by
Torch-TensorRT.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from trtlint.engine.evidence.base import Evidence, Question, Verdict
from trtlint.engine.finding import EvidenceSummary
from trtlint.facts.kinds import Ground, ground_of
from trtlint.facts.of_torch.torch_converter_fault import TorchConverterFaultFact
from trtlint.torch_tensorrt.calls import TorchCall, TorchScript, read_script, script_in
from trtlint.torch_tensorrt.program import Program

_LISTED = 200
COULD_NOT = "no dry run of Torch-TensorRT"
"""Prefix of the note about a dry run that was not possible."""


class TorchEvidence(Evidence, Struct, frozen=True):
    """A script or exported program for Torch-TensorRT, as evidence.

    All facts about a script come from the script itself. So a script cannot confirm or refute a finding.
    """

    kind = "torch_tensorrt"
    grounds = frozenset({"torch"})

    def states(self, fact: str) -> bool:
        """Return whether facts of this kind come from this file."""
        return ground_of(fact) == "torch"


class TorchScriptEvidence(TorchEvidence, frozen=True):
    """A Python script with calls of Torch-TensorRT, as evidence.

    Attributes:
        script: the calls, and the release of Torch-TensorRT for which trtlint checks the calls.
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
            f"the call in line {call.line} was not checked: {_reason(call)}"
            for call in script.calls
            if id(call) not in judged
        )

    @property
    def summary(self) -> EvidenceSummary:
        """For reports: the release of Torch-TensorRT, and the calls of its compilers in the script."""
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


def _reason(call: TorchCall) -> str:
    if call.ir is None and call.argument("ir") is not None:
        return "the argument ir is not a literal in this file"
    if call.ir is None:
        return "this file does not contain all arguments of the call, and ir may be one of them"
    return "trtlint can check arguments of the Dynamo front end, but not of the TorchScript and FX front ends"


class TorchProgramEvidence(TorchEvidence, frozen=True):
    """An exported program as evidence.

    Attributes:
        program: the program, with the release of Torch-TensorRT that compiles the program.
    """

    program: Program

    @property
    def grounds(self) -> frozenset[Ground]:  # type: ignore[override]  # elsewhere a class variable
        """The kinds of data that provide facts: the program, and the networks that Torch-TensorRT created."""
        run = self.program.run
        return frozenset({"torch", "network"} if run is not None and run.graphs else {"torch"})

    @property
    def files(self) -> tuple[str, ...]:
        """The file of the program."""
        return (self.program.path,)

    def form(self, path: str) -> str:  # noqa: ARG002
        """Return the kind of the file for reports."""
        return "program"

    @property
    def data(self) -> Program:
        """The exported program."""
        return self.program

    def judge(self, question: Question) -> Verdict | None:
        """Use the dry run to judge a finding about a known converter fault. Return None for other findings.

        An error of the dry run at the operator confirms the fault. But an error of the builder does not
        confirm the fault, because TensorRT can accept a network that the builder of TensorRT-RTX rejects.
        A dry run without an error does not refute the fault, because the engine can still compute wrong
        results.
        """
        fact = question.subject.fact
        if not isinstance(fact, TorchConverterFaultFact) or not fact.stage:
            return None
        if fact.stage == "passed":
            if not fact.ends:
                return None
            return Verdict(doubt="medium", said=("the dry run ends without an error at this operator",))
        if fact.stage == "build":
            return Verdict(said=(f"the builder of TensorRT-RTX rejects the network: {fact.said}",))
        return Verdict("confirmed", said=(f"the dry run ends with this error: {fact.said}",), ended=True)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the dry run, or the reason why there was none."""
        program, run = self.program, self.program.run
        if run is None:
            return ("trtlint predicts from a table of operators; --dry-build runs Torch-TensorRT instead",)
        if run.unasked:
            known = run.unasked.startswith(COULD_NOT)
            return (run.unasked if known else f"{COULD_NOT}: {run.unasked}",)
        engines = "unknown" if run.engines is None else run.engines
        notes = [
            f"Torch-TensorRT {run.found} with torch {run.torch}: {run.supported} of {run.operators} "
            f"operators have a converter; engines: {engines}; nodes in PyTorch: {run.torch_nodes}"
        ]
        if program.torch and program.torch.split(".")[:2] != run.torch.split(".")[:2]:
            notes.append(
                f"the program was exported with torch {program.torch}; its operators can differ from "
                f"an export with torch {run.torch}"
            )
        on_cpu = [each.name for each in run.fallbacks if each.reason_kind == "cpu"]
        if on_cpu:
            notes.append(
                f"torch uses {on_cpu[0]} only on a CPU ({len(on_cpu)} nodes). On a GPU, torch uses "
                "another operator, which Torch-TensorRT converts. So the number of engines on a "
                "GPU can differ"
            )
        if run.dropped:
            notes.append(
                "the dry run ignored these options because trtlint could not determine "
                f"their values: {', '.join(run.dropped)}"
            )
        if run.built:
            notes.append(f"the builder of TensorRT-RTX built {run.built} of these engines, without a GPU")
        return tuple(notes)

    @property
    def summary(self) -> EvidenceSummary:
        """The release of Torch-TensorRT and the result of the dry run, for reports."""
        program, run = self.program, self.program.run
        data: dict[str, object] = {"release": program.release, "operators": len(program.nodes)}
        if run is None:
            return EvidenceSummary.of(self.kind, data)
        data["dry_run"] = {
            "unasked": run.unasked,
            "torch": run.torch,
            "torch_tensorrt": run.found,
            "operators": run.operators,
            "supported": run.supported,
            "engines": run.engines,
            "built": run.built,
            "in_torch": list(run.in_torch[:_LISTED]),
            "fallbacks": [
                {"node": each.name, "operator": each.op, "module": each.module, "reason": each.reason}
                for each in run.fallbacks[:_LISTED]
            ],
            "layers": dict(run.layers),
            "types": dict(run.types),
            "convolutions": run.convolutions,
            "tensor_weights": run.tensor_weights,
            "error": run.error,
            "seconds": round(run.seconds, 1),
            "peak": run.peak,
        }
        return EvidenceSummary.of(self.kind, data)
