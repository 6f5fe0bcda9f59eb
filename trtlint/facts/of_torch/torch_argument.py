"""Find out which arguments of a call have an effect in the given release of Torch-TensorRT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from trtlint.facts.facts import Facts
from trtlint.facts.torchfact import TorchFact, line_of, origin_at
from trtlint.knowledge.torchreleases import (
    TorchRelease,
    argument,
    idle,
    instead_of,
    nearest_argument,
    needed_by,
)
from trtlint.model.origin import Origin
from trtlint.torch_tensorrt.calls import Argument, TorchCall, TorchScript, known_value
from trtlint.torch_tensorrt.values import UNKNOWN

State = Literal["read", "gone", "future", "unknown", "idle", "alone"]


class TorchArgumentFact(TorchFact, frozen=True):
    """An argument of a call that compiles a model with Torch-TensorRT.

    Attributes:
        name: the name of the argument.
        text: the value of the argument, as written in the script; a long text is shortened.
        state: the use of the argument by the release. ``read``: the release uses it. ``gone``: only earlier
            releases use it. ``future``: only later releases use it. ``unknown``: no release uses it.
            ``idle``: the release ignores it. ``alone``: it has no effect because another argument is not set.
        release: the release of Torch-TensorRT, such as ``2.13.0``.
        minor: the minor number of the release, such as 13.
        route: the kind of call: ``compile`` for ``torch_tensorrt.compile``, ``options`` for the options of
            ``torch.compile`` and for ``ir="torch_compile"``, ``windows`` for the cross compilation for
            Windows, and ``engine`` for the conversion to a serialized engine.
        first: the first release line that uses the argument; empty if no release uses it.
        last: the last release line that uses the argument; empty if no release uses it.
        instead: the replacement of the argument, or the argument that the user probably meant. For the state
            ``alone``, the other arguments that this argument needs. Empty if unknown.
        changes: whether the value differs from the default; None if the script computes the value.
        evidence: the line of Torch-TensorRT's source that reads the argument; empty if there is none.
        call: the name of the called function, as written in the script.
        code_origin: the script line that contains the argument.
    """

    name: str
    text: str
    state: State
    minor: int
    route: str
    first: str
    last: str
    instead: str
    changes: bool | None
    evidence: str
    call: str
    code_origin: Origin

    @property
    def place(self) -> str:
        """The location in reports: the line of the script, or the argument if the call was given as text."""
        return line_of(self.code_origin) or f"{self.call}({self.name}=)"


def find(facts: Facts) -> Iterator[TorchArgumentFact]:
    """Yield a fact for each argument, in the order of the calls."""
    script = facts.data(TorchScript)
    if script is None:
        return
    for call in script.judged:
        for each in call.arguments:
            yield _fact(call, each, script.runs)


def _fact(call: TorchCall, given: Argument, release: TorchRelease) -> TorchArgumentFact:
    known = argument(given.name, call.route, release)
    state: State = "read"
    instead = instead_of(given.name)
    if not known.read:
        state = "unknown"
        if known.first:
            state = "gone" if _minor(known.last) < release.minor else "future"
        else:
            instead = instead or nearest_argument(given.name, call.route, release)
    elif found := idle(given.name, call.route, release):
        state, instead = "idle", found
    elif needs := needed_by(given.name):
        others = [call.argument(name) for name in needs]
        values = [known_value(other, False) for other in others]
        if call.complete and all(value is False for value in values):
            state, instead = "alone", " or ".join(f"{name}=True" for name in needs)
    return TorchArgumentFact(
        name=given.name,
        text=given.text,
        state=state,
        release=release.version,
        minor=release.minor,
        route=call.route,
        first=known.first,
        last=known.last,
        instead=instead,
        changes=_changes(given, known.default),
        evidence=known.source,
        call=call.callee,
        code_origin=origin_at(call.source, given.line),
    )


def _minor(line: str) -> int:
    return int(line.split(".")[1])


def _changes(given: Argument, default: str) -> bool | None:
    if given.value is None:
        return False
    return None if given.value is UNKNOWN else str(given.value) != (default or "False")
