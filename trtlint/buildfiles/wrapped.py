"""Parse lines of the TensorRT library in the output of other programs: wrapped, renamed, or without a prefix.

A program with its own logger prints its name and a severity before the library's message. A container, a
launcher or a CI system adds another prefix.  The supported forms come from public issues: DeepStream
(https://github.com/marcoslucianops/DeepStream-Yolo/issues/210), mmdeploy
(https://github.com/open-mmlab/mmdeploy/issues/1876), Isaac
(https://github.com/NVIDIA-ISAAC-ROS/isaac_ros_common/issues/17), ROS launch
(https://github.com/autowarefoundation/autoware_universe/pull/6454), docker compose
(https://github.com/NVIDIA/TensorRT-LLM/issues/1838), ``gh run view --log``
(https://cli.github.com/manual/gh_run_view), ``NVINFER LOG``
(https://github.com/NVIDIA-AI-IOT/Lidar_AI_Solution/issues/271).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from trtlint.buildfiles.jsonlines import json_message
from trtlint.buildfiles.prefix import Prefix, letter, parse_prefix

_HEAD = 200
"""The search for the severity and the library name covers this number of bytes of a line."""
_LOOKED_AT = 4000
"""The search for ``MARKS`` covers this number of bytes of a line."""
_MANY = 1000  # after this number of lines, search only for the marks that occur in the batch
_SHORTEST = 6
"""Length of the shortest informative line, ``Killed``, in bytes."""
_LAYERS = 4
"""Maximum number of wrappers to remove around a line."""
_WRAPPER = re.compile(
    rb"[^\t\n]{1,100}\t[^\t\n]{1,100}\t(?:\xef\xbb\xbf)?(?=\d{4}-\d\d-\d\dT)"  # gh run view --log
    rb"|[\w./-]{1,80} {0,40}\| {1,2}"  # docker compose
    rb"|\[[\w./ -]{1,100}-\d{1,6}\] "  # ROS launch
    rb"|\[(?:rank)?\d{1,4}(?:,\d{1,4})?\](?:<std(?:err|out)>)?: ?"  # torchrun, mpirun
    rb"|\([\w .-]{0,40}\bpid=\d+[^)\n]{0,40}\) "  # Ray
    rb"|#\d{1,4} \d{1,6}\.\d{1,4} "  # docker build
    rb"|\[?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)\]? "  # CI
    rb"(?:std(?:out|err) [FP] |\d\d[OE][ +])?"  # Kubernetes, GitLab
    rb"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,80} [\w.@/-]{1,80}(?:\[\d+\])?: "  # journals
    rb"|\[\d\d:\d\d:\d\d(?:\.\d{1,9})?\] "
    rb"|\[(?:pod|container)/[\w./-]{1,160}\] "  # kubectl
    rb"|[\w:]{1,80}::log\] "  # the second half of a line that was broken in an issue
    rb"|(?:> ?|\*\*\* |[*-] |\$ |[`]{1,3}|\*\*)"  # quoted in an issue
    rb"|[ \t]{1,40}"
)
_WORD = rb"(?:INTERNAL[_ ]ERROR|CRITICAL|FATAL|ERROR|ERR|WARNING|WARN|INFO|VERBOSE|DEBUG|TRACE)"
_NAME = (
    rb"(?:\[?(?:NVINFER LOG|nvinfer1?|Torch-TensorRT(?: - [\w ]{1,40})?|TRT(?:Net|Logger|Engine)?"
    rb"|TensorRT|trt_infer|trt|tensorrt)\]?)"
)
_GAP = rb"[\]\[)(>< \t:|,=-]{0,24}"
_SEVERITY_FIRST = re.compile(
    rb"(?:^|[\s\[(<:|]|(?<=\d)(?=[EW]))(?P<word>" + _WORD + rb"|(?<=\[)[EWIVF](?=\]))" + _GAP
    + rb"(?:\[[\w./:@ -]{1,80}\] ?)?" + _NAME + rb"(?:\]|:|(?=\s))[\]: \t-]{0,4}",
    re.IGNORECASE,
)  # fmt: skip
_NAME_FIRST = re.compile(
    rb"(?:^|[\s\[(<:|])" + _NAME + _GAP + rb"(?P<word>" + _WORD + rb"|(?<=\[)[EWIVF](?=\]))[\]): \t>-]{1,4}",
    re.IGNORECASE,
)
_NAME_ONLY = re.compile(
    rb"(?:\[?[\d/:., T-]{8,32}\]? ?)?"
    rb"(?:\[(?:NVINFER LOG|TRT|TensorRT|trt)\]:?|(?:TRT(?:Net|Logger)?|trt_infer|TensorRT|NVInfer): )[ \t]*"
)
_SEVERITY_ONLY = re.compile(
    rb"(?:\[?[\d/:., T-]{8,32}\]?[ \t]{0,40})?(?:\[(?P<word>"
    + _WORD
    + rb"|[EWFIV])\][ \t]*:?[ \t]*|(?P<bare>"
    + _WORD
    + rb")(?:[ \t]*:[ \t]*|[ \t]+-[ \t]+))"
    rb"(?:root: ?|__main__: ?)?"
)
_CODE = re.compile(
    rb"(?:\d{1,2}: )?\[[\w.]+\.\w{1,3}::[^\]]{1,200}::\d+\] Error Code"
    rb"|\w[\w:]{0,80}: Error Code \d|Error Code:? \d"
)
_NUMBERED = re.compile(rb"\d{1,2}: [A-Z\[]")
"""Pattern of the error code that begins an error of TensorRT 8."""
_IN_PREFIXES = (
    b"TRT",
    b"rt",
    b"RT",
    b"NVINFER",
    b"nvinfer",
    b"rror",
    b"RROR",
    b"WARN",
    b"FATAL",
    b"[E]",
    b"[W]",
    b"[F]",
    b"[I]",
    b"[V]",
)
"""Texts for a quick check: the log prefix of a program contains at least one of them."""
_BROKEN_LINE = re.compile(r"(?:Error Code:? \d+: [A-Z][A-Za-z ]{1,40}|due to exception)\s*$")
"""Pattern of the end of an error line that a terminal or Myelin broke before the reason."""
_INDENT = "    "
"""Text that Polygraphy prints before each continuation line of a message."""


MARKS = (
    b"rr", b"ail", b"trt", b"ensorr", b"xcept", b"illed", b"bort", b"dump", b"not ", b"annot", b"fault",
    b"llegal", b"nsupp", b"violat", b"warn", b"nvinf", b"sig", b"[e]", b"[w]", b"[f]", b"xit ",
    b"nable", b"ameter check", b"invalid", b"parsing node", b"in function", b"dcheck", b"memory",
    b"what():", b"termina", b"\xe6", b"\xe5", b"traceb", b"alloc", b" must ",
    b"whereas", b"unexpected", b"providers_tensorrt", b"undefined ref", b"#assert",
)  # fmt: skip
"""Lower-case texts for a quick check of lines without a log prefix.

Every informative line without a log prefix contains at least one of these texts.
"""


def telling(line: bytes, marks: Iterable[bytes] = MARKS) -> bool:
    """Return whether a line without a usual log prefix may be about a TensorRT build."""
    if len(line) < _SHORTEST:
        return False
    head = line[:_LOOKED_AT].lower()
    for mark in MARKS if line[:1] == b"[" else marks:  # noqa: SIM110 (twice as fast as a generator)
        if mark in head:
            return True
    return False


class MarkSearch:
    """Searches lines for ``MARKS``, fixed texts that are typical of TensorRT builds.

    In a long batch of lines, the search uses only the marks that occur somewhere in the batch.
    """

    def __init__(self) -> None:
        self.begin(())

    def begin(self, lines: Sequence[bytes]) -> None:
        """Start the next batch of lines."""
        self._lines = lines
        self._asked = 0
        self._marks: tuple[bytes, ...] = MARKS

    def telling(self, line: bytes) -> bool:
        """Return whether a line of the batch may be about a build."""
        self._asked += 1
        if self._asked == _MANY:
            # Lines with a leading bracket come from a logger, and are always searched for all marks.
            text = b"\n".join(each[:_LOOKED_AT] for each in self._lines if each[:1] != b"[").lower()
            self._marks = tuple(mark for mark in MARKS if mark in text)
        return telling(line, self._marks)


def unwrap(line: bytes) -> tuple[bytes, Prefix | None]:
    """Remove the prefixes of containers and launchers from a line.

    Return the rest of the line, and its log prefix (None if it has none).
    """
    kept = json_message(line)
    rest = kept[-1] if kept else line
    if kept and (prefix := parse_prefix(rest)) is not None:
        return rest, prefix
    for _ in range(_LAYERS):
        wrapper = _WRAPPER.match(rest)
        if not wrapper:
            break
        rest = rest[wrapper.end() :]
        if (prefix := parse_prefix(rest)) is not None:
            return unquoted(rest, within(rest, prefix) if prefix.common else prefix)
    return unquoted(rest, _own(rest))


def joined(lines: list[str]) -> str:
    """Join the lines of a message with newlines.

    If the reason for an error follows on further lines, these lines are joined with spaces.  The indentation
    that Polygraphy adds is removed.
    """
    if not _BROKEN_LINE.search(lines[0]):
        if all(line.startswith(_INDENT) for line in lines[1:]):
            lines = [line.removeprefix(_INDENT) for line in lines]
        return "\n".join(lines).rstrip()
    text = lines[0].rstrip()
    for at, line in enumerate(lines[1:], 1):
        if text.count("(") == text.count(")") and at > 1 and not line.startswith(" "):
            return "\n".join((text, *lines[at:])).rstrip()
        text = f"{text} {line.strip()}"
    return text


def prefixed(line: bytes) -> tuple[bytes, Prefix | None]:
    """Return a line without wrappers, and the log prefix in it (None if no known logger printed one)."""
    prefix = parse_prefix(line)
    return unwrap(line) if prefix is None else (line, prefix)


def within(line: bytes, outer: Prefix) -> Prefix:
    """Find TensorRT's own log prefix in a line that a program's logger printed with the prefix ``outer``.

    If TensorRT printed no prefix with a severity, return ``outer``.
    """
    inner = _own(line[outer.start :])
    if inner is None or not inner.library or not inner.severity:
        return outer
    return inner._replace(start=outer.start + inner.start)


def unquoted(line: bytes, prefix: Prefix | None) -> tuple[bytes, Prefix | None]:
    """Return a line without the quotation marks that a logger put around its message."""
    if prefix is not None and line[prefix.start : prefix.start + 1] == b'"' and line.endswith(b'"'):
        return line[: prefix.start] + line[prefix.start + 1 : -1], prefix
    return line, prefix


def _is_error(line: bytes, start: int) -> bool:
    """Return whether the message at ``start`` is an error, for a line whose log prefix has no severity."""
    return _CODE.match(line, start) is not None or _NUMBERED.match(line, start) is not None


def _own(line: bytes) -> Prefix | None:
    """Return the log prefix that a program's own logger has printed, or None if there is none."""
    head = line[:_HEAD]
    if not any(mark in head for mark in _IN_PREFIXES):
        return None
    for shape in (_SEVERITY_FIRST, _NAME_FIRST):
        found = shape.search(head)
        if found and found.start() <= 120:
            return Prefix(letter(found["word"]), "logger", found.end(), True)
    named = _NAME_ONLY.match(head)
    if named:
        return Prefix("E" if _is_error(line, named.end()) else "", "logger", named.end(), True)
    if _CODE.match(head):
        return Prefix("E", "logger", 0, True)
    plain = _SEVERITY_ONLY.match(head)
    if plain:
        return Prefix(letter(plain["word"] or plain["bare"]), "logger", plain.end(), None, common=True)
    return None
