"""Facts about the options of the build command, and the effect of each option in each release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from trtlint.buildcommand import Option
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.knowledge.flags import FlagHistory, flag_histories, nearest_flag
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
        yield _flag(option, command.place, "given")
        history = flag_histories().get(name) if command.tool == "trtexec" else None
        if history is not None:
            yield from _states(option, command.place, history)
        elif command.tool == "trtexec" and (meant := nearest_flag(name)):
            yield _flag(option, command.place, "misspelt", instead=meant)


def _states(option: Option, source: str, history: FlagHistory) -> Iterator[Flag]:
    end = history.removed
    if since := history.since:
        yield _flag(option, source, "future", history, since, f"<{since}")
    if history.absent is not None:
        first, last = history.absent
        yield _flag(option, source, "absent", history, first, f">={first},<{_after(last)}")
    if since := history.deprecated:
        until = f",<{end}" if end else ""
        yield _flag(option, source, "deprecated", history, since, f">={since}{until}")
    if end is not None:
        yield _flag(option, source, "removed", history, end, f">={end}")
    if since := history.noop:
        yield _flag(option, source, "idle", history, since, f">={since}")


def _flag(
    option: Option,
    source: str,
    state: State,
    history: FlagHistory | None = None,
    since: str = "",
    versions: str = "",
    instead: str = "",
) -> Flag:
    return Flag(
        name=option.name,
        text=option.text,
        state=state,
        since=since,
        group=history.group if history else "",
        instead=history.instead if history else instead,
        source=source,
        versions=versions,
    )


def _after(line: str) -> str:
    """Return the release line after ``line``.

    A version range that ends before this release line still includes ``line``.
    """
    major, minor = line.split(".")
    return f"{major}.{int(minor) + 1}"
