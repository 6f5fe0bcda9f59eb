"""Collect build settings, such as version, GPU and precision, from a log or a metadata file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from trtlint.knowledge.source_lines import release_of

_FLAGS = {
    "fp16": "fp16", "int8": "int8", "bf16": "bf16", "fp8": "fp8", "int4": "int4", "best": "best",
    "strongly-typed": "strongly-typed", "stronglytyped": "strongly-typed",
    "notf32": "no-tf32", "tf32": "tf32",
}  # fmt: skip
_POLYGRAPHY_FLAGS = {"FP16", "INT8", "BF16", "FP8", "TF32", "INT4"}
_PRECISIONS = {"FP32", "FP16", "INT8", "BF16", "FP8", "INT4", "FP4", "TF32"}
_LONGEST_COMMAND = 20_000
"""Maximum length of a parsed command, in characters."""
_TOOLS = (
    "ultralytics", "comfyui", "deepstream", "tensorrt-llm", "isaac-ros", "autoware", "triton",
    "torch-tensorrt", "onnxruntime", "tensorflow", "frigate", "jetson-inference", "tao", "mmdeploy",
    "vs-mlrt", "polygraphy", "python", "logger",
)  # fmt: skip
"""Names of programs that use TensorRT. A program comes before the programs that it uses."""
_BUILDER_FLAGS = re.compile(r"^\s*Flags\s+\| \[([^\]]*)\]", re.MULTILINE)
_TORCH_DTYPE = re.compile(
    r"(?:torch\.|dtype\.)(float16|half|bfloat16|float32|float|int8|float8\w*|f16|f32|bf16|i8|f8)\b"
)
_TORCH_NAMES = {
    "half": "fp16", "float16": "fp16", "f16": "fp16", "bfloat16": "bf16", "bf16": "bf16", "float32": "fp32",
    "float": "fp32", "f32": "fp32", "int8": "int8", "i8": "int8", "f8": "fp8",
}  # fmt: skip


class BuildSettings(Struct, frozen=True):
    """Build settings in a log or a metadata file. A field is None if unknown.

    - ``product``: ``tensorrt`` or ``tensorrt-rtx``
    - ``version``: the printed release
    - ``sm``: the compute capability as a whole number (89 for 8.9)
    - ``flags``: the given precision options (``fp16``, ``best``, ``no-tf32`` ...)
    - ``precision``: the types that layers may use (``fp32``, ``fp16`` ...)
    - ``constraints``: ``obey`` or ``prefer``
    - ``torch``: settings of Torch-TensorRT as printed
    - ``status``: ``passed`` or ``failed``
    - ``found``: number of the line from which each field comes, if known
    """

    product: str | None = None
    version: str | None = None
    tool: str | None = None
    tool_version: str | None = None
    gpu: str | None = None
    sm: int | None = None
    flags: frozenset[str] | None = None
    precision: frozenset[str] | None = None
    constraints: str | None = None
    strongly_typed: bool | None = None
    tf32: bool | None = None
    opset: int | None = None
    producer: str | None = None
    model: str | None = None
    optimization_level: int | None = None
    command: str | None = None
    torch: Mapping[str, str] | None = None
    status: str | None = None
    found: Mapping[str, int] = field(default_factory=dict)


def decode_version(number: str) -> str | None:
    """Decode trtexec's version number: ``8510`` is 8.5.10, ``101303`` is 10.13.3.

    Source: https://github.com/NVIDIA/TensorRT/blob/main/samples/common/logging.h on each release branch.
    """
    if not number.isascii() or not number.isdecimal() or not 4 <= len(number) <= 6:
        return None
    value = int(number)
    if value < 10_000:
        return f"{value // 1000}.{value // 100 % 10}.{value % 100}"
    return f"{value // 10_000}.{value // 100 % 100}.{value % 100}"


class Collector:
    """Collects build settings from records and option lines.

    If a field is set twice, the first value is kept.
    """

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._found: dict[str, int] = {}
        self._flags: set[str] = set()
        self._know_flags = False
        # The releases that can have printed the source line in an error, and the number of the log line.
        self._printed_by: tuple[Mapping[str, str], int] = {}, 0
        self._table: tuple[str | None, int] = None, 0

    def set(self, name: str, value: object, line: int | None) -> None:
        """Set a field, unless it is already set or the value is None or empty."""
        if value in (None, "") or name in self._values:
            return
        self._values[name] = value
        if line is not None:
            self._found[name] = line

    def record(self, settles: str, groups: Mapping[str, str], line: int) -> None:
        """Set the fields that the groups of a record contain.

        ``settles`` is ``LogPattern.settles`` of the record's pattern.  It selects the method that reads the
        groups.
        """
        _HANDLERS[settles](self, groups, line)

    def error(self, message: str, line: int) -> None:
        """Remember which release prints an error with this source location, such as ``builder.cpp::157``.

        The first such error counts, and only if no other line of the log shows the release.
        """
        if not self._printed_by[0]:
            self._printed_by = release_of(message), line

    def option(self, section: str, key: str, value: str, line: int) -> None:
        """Read one ``key: value`` line of trtexec's option blocks."""
        if section == "Build Options" and key == "Precision":
            self.precision(value, line)
        elif section == "Build Options" and key == "BuilderOptimizationLevel":
            level = _whole(value)
            self.set("optimization_level", level if level is not None and level >= 0 else None, line)
        elif section == "Model Options" and key == "Model":
            self.set("model", value, line)
        elif key == "Selected Device":
            self.set("gpu", value, line)
        elif key == "Compute Capability":
            self.set("sm", _sm(value), line)

    def precision(self, value: str, line: int | None) -> None:
        """Read trtexec's ``Precision:`` value, such as ``FP32+FP16 (obey precision constraints)``."""
        words = set(re.findall(r"(?<![A-Z])[A-Z]+\d+", value)) & _PRECISIONS
        if "Strongly Typed" in value:
            self.set("strongly_typed", True, line)
        elif words:
            self.set("strongly_typed", False, line)
        if words:
            self.set("precision", frozenset(word.lower() for word in words), line)
        constraint = re.search(r"\((obey|prefer) precision constraints\)", value)
        if constraint:
            self.set("constraints", constraint[1], line)

    def configuration(self, message: str, line: int) -> None:
        """Read Polygraphy's table of the builder configuration."""
        flags = _BUILDER_FLAGS.search(message)
        if not flags:
            return
        names = {name.strip() for name in flags[1].split(",")}
        known = {name.lower() for name in names & _POLYGRAPHY_FLAGS}
        self._flags |= known - {"tf32"}
        self._know_flags = True
        self.set("tf32", "tf32" in known, line)
        self.set("precision", frozenset({"fp32"} | (known - {"tf32"})), line)

    def settings(self, tools: Collection[str] = ()) -> BuildSettings:
        """Return all settings that were found so far.

        Args:
            tools: the tools that the prefixes of log lines show.
        """
        self._use_source_line()
        if self._table[0]:  # TensorRT for RTX has no calibrators
            self.set("product", "tensorrt", self._table[1])
        self.set("version", *self._table)
        values = dict(self._values)
        if "tool" not in values:
            values["tool"] = next((tool for tool in _TOOLS if tool in tools), None)
        if self._know_flags:
            values["flags"] = frozenset(self._flags)
        if values.get("strongly_typed") is None and values.get("product") == "tensorrt-rtx":
            # TensorRT for RTX builds strongly typed networks only.
            # https://docs.nvidia.com/deeplearning/tensorrt-rtx/latest/
            values["strongly_typed"] = True
        major = str(values.get("version", "")).partition(".")[0]
        if values.get("strongly_typed") is None and values.get("product") == "tensorrt" and _whole(major):
            values["strongly_typed"] = True if int(major) >= 11 else None
        return BuildSettings(**values, found=MappingProxyType(dict(self._found)))

    def _use_source_line(self) -> None:
        """Set product and version from the source line in an error, unless other lines show them."""
        releases, line = self._printed_by
        if len(releases) == 1:
            self.set("product", next(iter(releases)), line)
        self.set("version", releases.get(self._values.get("product", "")), line)

    def _banner(self, groups: Mapping[str, str], line: int) -> None:
        state = groups["state"]
        if state in ("PASSED", "FAILED"):
            self._values["status"] = state.lower()
            self._found["status"] = line
        self._values["tool"] = "trtexec" if groups["tool"].endswith("trtexec") else groups["tool"].lower()
        rtx = "rtx" in groups or "rtx" in groups["tool"].lower()
        self.set("product", "tensorrt-rtx" if rtx else "tensorrt", line)
        self.set("version", decode_version(groups["number"]), line)
        self._command(groups, line)

    def _command(self, groups: Mapping[str, str], line: int) -> None:
        command = groups["command"].strip()
        if "command" in self._values or not command:
            return
        self.set("command", command, line)
        words = _words(command)
        self._know_flags = True
        for word in words:
            if not word.startswith("--"):
                continue
            name, _, value = word[2:].partition("=")
            flag = _FLAGS.get(name.lower())
            if flag:
                self._flags.add(flag)
                self._found.setdefault("flags", line)
            if name == "noTF32":
                self.set("tf32", False, line)
            elif flag == "strongly-typed":
                self.set("strongly_typed", True, line)
            elif name == "precisionConstraints" and value in ("obey", "prefer"):
                self.set("constraints", value, line)
            elif name == "builderOptimizationLevel":
                self.set("optimization_level", _whole(value), line)

    def _calibration_table(self, groups: Mapping[str, str], line: int) -> None:
        """Set the release from the header of a calibration cache, if the log shows no other release."""
        self._table = decode_version(groups["number"]), line

    def _version(self, groups: Mapping[str, str], line: int) -> None:
        self.set("product", "tensorrt", line)
        self.set("version", groups["version"].rstrip("."), line)
        self.set("sm", _whole(groups.get("sm", "")), line)

    def _module(self, groups: Mapping[str, str], line: int) -> None:
        module, version = groups["module"], groups["version"]
        if module in ("tensorrt", "tensorrt_rtx"):
            self.set("product", module.replace("_", "-"), line)
            self.set("version", ".".join(version.split(".")[:3]), line)
        elif module == "polygraphy":
            self.set("tool", "polygraphy", None)
            self.set("tool_version", version, line)

    def _header(self, groups: Mapping[str, str], line: int) -> None:
        key, value = groups["key"], groups["value"]
        if key == "Opset version":
            self.set("opset", _whole(value), line)
        elif key == "Producer name":
            self.set("producer", value, line)
        elif key == "Input filename":
            self.set("model", value, line)

    def _tf32(self, groups: Mapping[str, str], line: int) -> None:
        if groups["state"] == "disabled":
            # Polygraphy prints this line, but the table of flags further down in the log decides.
            self.set("tool", "polygraphy", None)
        self.set("tf32", groups["state"] == "enabled", line)

    def _rtx(self, _groups: Mapping[str, str], line: int) -> None:
        self.set("product", "tensorrt-rtx", line)

    def _weak_typing(self, _groups: Mapping[str, str], line: int) -> None:
        self.set("strongly_typed", False, line)

    def _no_tf32(self, _groups: Mapping[str, str], line: int) -> None:
        self._values["tf32"] = False
        self._found["tf32"] = line

    def _torch(self, groups: Mapping[str, str], line: int) -> None:
        text = groups["settings"]
        parts = re.split(r", (?=[a-z_0-9]{2,60}=)", text)
        settings = dict(part.split("=", 1) for part in parts if "=" in part)
        self.set("torch", MappingProxyType(settings), line)
        given = settings.get("enabled_precisions", settings.get("precision", ""))
        found = {_TORCH_NAMES.get(name, "fp8") for name in _TORCH_DTYPE.findall(given)}
        if found:
            self.set("precision", frozenset(found), line)
        explicit = settings.get("use_explicit_typing", settings.get("use_strong_typing"))
        if explicit in ("True", "False"):
            self.set("strongly_typed", explicit == "True", line)
        if settings.get("disable_tf32") in ("True", "False"):
            self.set("tf32", settings["disable_tf32"] == "False", line)


_HANDLERS: Mapping[str, Callable[[Collector, Mapping[str, str], int], None]] = {
    "banner": Collector._banner,
    "calibration_table": Collector._calibration_table,
    "command": Collector._command,
    "header": Collector._header,
    "module": Collector._module,
    "no_tf32": Collector._no_tf32,
    "rtx": Collector._rtx,
    "tf32": Collector._tf32,
    "torch": Collector._torch,
    "version": Collector._version,
    "weak_typing": Collector._weak_typing,
}
"""For each value of ``LogPattern.settles``, the method that reads the groups of the match."""


def from_json(root: object) -> BuildSettings | None:
    """Return the settings in a ``*.metadata.json`` file of the engine explorer, or None for other JSON.

    https://github.com/NVIDIA/TensorRT/tree/main/tools/experimental/trt-engine-explorer
    """
    keys = ("model_options", "build_options", "device_information", "performance_summary")
    if not isinstance(root, dict) or not any(isinstance(root.get(key), dict) for key in keys):
        return None
    collector = Collector()
    for section, title in (
        ("model_options", "Model Options"),
        ("build_options", "Build Options"),
        ("device_information", "Device Information"),
    ):
        values = root.get(section)
        for key, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, (str, int, float)):
                collector.option(title, str(key), str(value), 1)
    return collector.settings()


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command[:_LONGEST_COMMAND], posix=False)
    except ValueError:
        return command.split()


def _whole(text: str) -> int | None:
    digits = text.strip().removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else None


def _sm(text: str) -> int | None:
    found = re.match(r"(\d{1,2})\.(\d)\b", text)
    return int(found[1]) * 10 + int(found[2]) if found else None
