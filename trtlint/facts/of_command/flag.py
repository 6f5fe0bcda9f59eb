"""Facts about the options of the build command, and the effect of each option in each release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec.structs import replace

from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.knowledge.flags import flag_histories, nearest_flag
from trtlint.knowledge.releases import Product

State = Literal["given", "misspelt", "future", "absent", "deprecated", "removed", "idle"]


class Flag(Fact, frozen=True):
    """An option of the build command.  The fact exists only if a command was given.

    Each option has one fact with the state ``given``, for all versions. Some versions of trtexec may lack,
    deprecate or ignore the option. There is one more fact for each such state, such as ``removed``.

    Attributes:
        name: the option with its dashes, such as ``--fp16``.
        text: the option as written, such as ``--workspace=4096``.
        state: the state of the option in ``versions``. ``given``: the command has the option. ``misspelt``:
            the option is unknown, but similar to a known option. ``future``: later versions add the option.
            ``absent``: the versions lack the option, but earlier and later versions have it. ``deprecated``:
            the versions deprecate the option. ``removed``: the versions do not have the option any more.
            ``idle``: the versions accept and ignore the option.
        since: the first release line with this state, such as ``11.0``.  For ``future``, the first line that
            has the option.  Empty for ``given`` and ``misspelt``.
        group: the kind of setting: ``precision``, ``calibration``, ``layer-precision``, ``shapes``,
            ``benchmark``, or empty.
        instead: the replacement; empty if none is known. For a misspelt option, the option that the user
            probably meant.
        source: the file and line of the command; empty for a command given as text.
        versions: the versions of TensorRT in which the option has this state; empty for all versions.
    """

    name: str
    text: str
    state: State
    since: str
    group: str
    instead: str
    source: str
    versions: str

    @property
    def place(self) -> str:
        """The location in reports: the file and line of the command, and the option."""
        return f"{self.source} {self.name}".strip()

    @property
    def applies(self) -> Mapping[Product, str] | None:
        """The versions of TensorRT in which the option has this state, or None for all versions.

        TensorRT-RTX is left out, because TensorRT-RTX has a separate program, tensorrt_rtx.
        """
        return {"tensorrt": self.versions} if self.versions else None


def find(facts: Facts) -> Iterator[Flag]:
    """Yield the facts of each option of the command: one for each state of the option."""
    command = facts.command
    if command is None:
        return
    for name in command.names:
        option = command.option(name)
        assert option is not None
        given = Flag(
            name=option.name,
            text=option.text,
            state="given",
            since="",
            group="",
            instead="",
            source=command.place,
            versions="",
        )
        yield given
        history = flag_histories().get(name) if command.tool == "trtexec" else None
        if history is not None:
            for state in history.states():
                yield replace(
                    given,
                    state=state.name,
                    since=state.first or state.end,
                    group=history.group,
                    instead=history.instead,
                    versions=state.versions,
                )
        elif command.tool == "trtexec" and (meant := nearest_flag(name)):
            yield replace(given, state="misspelt", instead=meant)
