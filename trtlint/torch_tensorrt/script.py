"""The calls of Torch-TensorRT in a script, and the release that runs them."""

from __future__ import annotations

from msgspec import Struct

from trtlint.knowledge.torchreleases import TorchRelease, torch_release
from trtlint.torch_tensorrt.calls import TorchCall
from trtlint.torch_tensorrt.marks import ScriptMark
from trtlint.torch_tensorrt.uses import TorchUse

OTHER_FRONT_ENDS = ("ts", "torchscript", "fx")
"""Values of ``ir`` for front ends whose arguments differ from the arguments of the Dynamo front end."""


class TorchScript(Struct, frozen=True):
    """The calls of a script, or of the text in ``--build``.

    Attributes:
        path: the script; ``--build`` for a call given as text.
        release: the release of Torch-TensorRT, such as ``2.13.0``.
        calls: the calls.
        uses: calls that export or save modules, or set run-time modes, such as ``torch_tensorrt.save``.
        marks: other parts that affect the compilation, such as ranges of input shapes, or exports and traces
            of programs.
    """

    path: str
    release: str
    calls: tuple[TorchCall, ...]
    uses: tuple[TorchUse, ...] = ()
    marks: tuple[ScriptMark, ...] = ()

    @property
    def runs(self) -> TorchRelease:
        """Return the data of the release."""
        return torch_release(self.release)

    @property
    def judged(self) -> tuple[TorchCall, ...]:
        """Return the calls that certainly use the Dynamo front end."""
        return tuple(
            call
            for call in self.calls
            if call.ir is not None
            and call.ir not in OTHER_FRONT_ENDS
            and not (call.scripted and call.ir == "default")
        )
