"""Read Python tracebacks in a log, in particular tracebacks without an exception message.

Programs stop with such a traceback if TensorRT returns no engine. For example, Torch-TensorRT prints a bare
``AssertionError`` (https://github.com/pytorch/TensorRT/issues/4610).  Logs that people paste into issues can
have truncated tracebacks, or tracebacks without indentation
(https://github.com/TNTwise/REAL-Video-Enhancer/issues/134).
"""

from __future__ import annotations

import re
from typing import NamedTuple

HEADING = b"Traceback (most recent call last)"
_FRAME = re.compile(
    rb'\s*File "(?P<file>[^"]{1,400})", line (?P<line>\d{1,7})(?:, in (?P<function>[^\n]{1,120}))?'
)
_BARE = re.compile(rb"(?P<type>[A-Za-z_][\w.]{0,120}(?:Error|Exception|Interrupt))\s*$")
_NAME = re.compile(rb"[A-Za-z_][\w.]{0,120}")

_CODE = 200
"""Maximum length of a stored source line, in bytes."""
_LEFT_OUT = (b"[...]", b"...", b"[\xe2\x80\xa6]", b"\xe2\x80\xa6")
"""Texts that people write in place of omitted frames."""


_PACKAGE = re.compile(r"/(?:site|dist)-packages/([A-Za-z_][\w-]{0,80})")
_OF_PYTHON = re.compile(r"/lib/python3(?:\.\d{1,2})?/|/(?:Python3\d{1,2}|envs/[^/]{1,80})/[Ll]ib/|^<")
"""Pattern of paths in a Python installation or environment, and of frames without a file."""


class RaiseSite(NamedTuple):
    """The source line where an exception was raised.

    Attributes:
        at: file, line and function of the last frame, such as ``export.py:31 in build``.
        own: file, line and function of the last frame outside of installed packages; empty if there is none.
        package: the installed package that contains the last frame; empty if no package contains it.
        code: the source line of the last frame; empty if the log does not show it.
    """

    at: str
    own: str
    package: str
    code: str


class Ending(NamedTuple):
    """The end of a truncated traceback, or of a traceback whose exception has no message.

    Attributes:
        line: line number of the last line; for a truncated traceback, line number of its heading.
        message: a text about the exception or the truncation, and the last frame.
    """

    line: int
    message: str


class Traceback:
    """Reads one traceback at a time, line by line.

    ``open`` is True after the beginning of a traceback and before its end.
    """

    def __init__(self) -> None:
        self.open = False
        self._before = b""  # the text before the heading, and before each line of the traceback
        self._number = 0
        self._frame: re.Match[bytes] | None = None
        self._own: re.Match[bytes] | None = None  # the last frame outside of installed packages
        self._ended = 0  # number of the line after the traceback
        self._code: bytes | None = b""  # the code of the last frame; None right after the frame
        self._code_next = False
        self._last = 0  # equal to ``_ended`` if that line may begin the name of an exception

    def begin(self, number: int, line: bytes) -> None:
        """Begin a traceback with its heading, ``Traceback (most recent call last):``."""
        self.open = True
        self._before = line[: line.find(HEADING)]
        self._number = number
        self._frame = self._own = None
        self._code_next = False

    def takes(self, line: bytes) -> bool:
        """Return whether a line belongs to the frames of the traceback. The exception follows the frames."""
        if not self.open or not line.startswith(self._before):
            return False
        rest = line[len(self._before) :]
        frame = _FRAME.match(rest)
        if frame is not None:
            self._frame, self._code = frame, None
            if not _is_installed(_file(frame)):
                self._own = frame
            # Without indentation, the line after a frame is its code.
            self._code_next = rest[:1] != b" "
            return True
        if rest.strip() in _LEFT_OUT:
            return True
        code, self._code_next = rest[:1] == b" " or self._code_next, False
        if code and self._code is None:
            self._code = rest.strip()[:_CODE]
        return code

    def end(self, number: int, line: bytes) -> Ending | None:
        """End the traceback at the first line after its frames.

        Return an :class:`Ending` if this line is an exception without a message, else None.
        """
        self.open = False
        self._ended = number
        found = _BARE.match(line[len(self._before) :]) if line.startswith(self._before) else None
        self._last = number if found is None and _NAME.fullmatch(line[len(self._before) :].strip()) else 0
        return None if found is None else Ending(number, found["type"].decode() + self._at())

    def is_cut(self, line: int) -> bool:
        """Return whether ``line``, the last line of a log, is inside a traceback."""
        return self.open or (self._last == line and line > 0)

    def cut(self) -> Ending:
        """End a traceback that the end of the log truncates, and return its :class:`Ending`."""
        self.open = False
        return Ending(self._number, "a Python traceback that is cut off" + self._at())

    def _at(self) -> str:
        """Return the last frame in words, such as `` at loader.py:3 in load``, or an empty string."""
        return "" if self._frame is None else f" at {_place(self._frame)}"

    def raised(self, line: int) -> RaiseSite | None:
        """Return where the exception on line ``line`` was raised, or None if no traceback ends there."""
        if self._frame is None or line != self._ended:
            return None
        own = "" if self._own is None else _place(self._own)
        package = _PACKAGE.search(_file(self._frame))
        code = (self._code or b"").decode(errors="replace")
        return RaiseSite(_place(self._frame), own, "" if package is None else package[1], code)


def _file(frame: re.Match[bytes]) -> str:
    return frame["file"].decode(errors="replace").replace("\\", "/")


def _is_installed(file: str) -> bool:
    return _PACKAGE.search(file) is not None or _OF_PYTHON.search(file) is not None


def _place(frame: re.Match[bytes]) -> str:
    """Return file, line and function of a frame."""
    function = (frame["function"] or b"").decode(errors="replace").strip()
    file = _file(frame).rpartition("/")[2]
    return f"{file}:{frame['line'].decode()}" + (f" in {function}" if function else "")
