"""Represent a build command and its options.

trtexec takes options as ``--name`` or ``--name=value``. Option names are case-sensitive.
https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleOptions.cpp
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath, PureWindowsPath
from typing import Literal

from msgspec import Struct

from trtlint.errors import SettingError
from trtlint.knowledge.providers import BOOLEANS, PROVIDERS, Provider

Tool = Literal["trtexec", "tensorrt_rtx", "triton", "onnxruntime"]
"""The program that builds the engine. It determines the names of the options.

For ``triton``, the options are the keys of the accelerator in a configuration. For ``onnxruntime``, the
options are ``provider``, ``model``, and all options of the execution provider.
"""
Role = Literal["input", "output"]

VARIABLE = re.compile(r"\$|%\w+%|%~\w|%%~?\w|%[\d*]|`|\{\{")
"""Pattern of text that a shell, make, a batch file or a template expands."""

_MOST_OPTIONS = 500
"""Maximum number of options of a provider."""
COMPUTED = "${_}"
"""Stands for a part of a command that only a run of the script shows."""
_OPTIONAL = re.compile(r"\[-")
"""Pattern of the start of an optional part in a usage text, such as ``[--fp16 | --int8]``."""
_OF_PROGRAM = re.compile(r"_(?:path|bin|binary|exe|executable|cmd)$")
"""Pattern of the end of the name of a variable that contains a program."""
_DEFAULT = re.compile(r"\$\{\w+:?-(.+)\}")
"""Pattern of a shell variable with a default, such as ``${TRTEXEC:-/usr/src/tensorrt/bin/trtexec}``."""
_SWITCHES: Mapping[str, tuple[str, bool]] = {
    "--fp16": ("fp16", True),
    "--bf16": ("bf16", True),
    "--int8": ("int8", True),
    "--fp8": ("fp8", True),
    "--best": ("best", True),
    "--stronglyTyped": ("strongly-typed", True),
    "--noTF32": ("tf32", False),
}
"""The builder setting of each option: the setting's name in targets, and whether the option turns it on."""
_MODES: Mapping[str, str] = {"FP16": "fp16", "BF16": "bf16", "INT8": "int8"}
"""For each value of ``precision_mode``, the builder setting that it turns on.

https://github.com/triton-inference-server/onnxruntime_backend/blob/00fd3e8/README.md
"""


_PRECISIONS: Mapping[str, str] = {
    "trt_fp16_enable": "fp16", "trt_bf16_enable": "bf16", "trt_int8_enable": "int8"
}  # fmt: skip
"""The builder settings that options of ONNX Runtime's TensorRT provider turn on."""


class CommandError(SettingError):
    """Error: a text or file has no build command, or a command has shapes that cannot be read."""


class Option(Struct, frozen=True):
    """One option of a build command.

    Attributes:
        name: the name with its dashes, such as ``--minShapes``.
        value: the text after ``=``; None if there is no ``=``, or if the text contains a variable.
        known: False if the text after ``=`` contains an unexpanded variable.
    """

    name: str
    value: str | None = None
    known: bool = True

    @property
    def text(self) -> str:
        """The option as written in a command line, such as ``--minShapes=x:1x3``."""
        if not self.known:
            return f"{self.name}=..."
        return self.name if self.value is None else f"{self.name}={self.value}"


class ServedTensor(Struct, frozen=True):
    """An input or output of a model in a server configuration.

    Attributes:
        role: ``input`` or ``output``.
        name: the name in the model.
        data_type: the type in Triton's notation, such as ``TYPE_FP32``.
        dims: the shape in the model, with -1 for any size. If the server forms batches, the batch axis is
            left out.
        ragged: whether the server joins requests of different shapes in a batch.
    """

    role: Role
    name: str
    data_type: str
    dims: tuple[int, ...]
    ragged: bool


class ServerConfiguration(Struct, frozen=True):
    """The model configuration of a server.

    Attributes:
        backend: the backend that runs the model, ``onnxruntime`` or ``tensorrt``.
        max_batch_size: the largest batch that the server forms; 0 if the server does not form batches.
        tensors: the inputs and outputs, in the order of the file.
        accelerators: the names of the accelerators for GPUs. They are left out if the backend does not use
            them.
    """

    backend: str
    max_batch_size: int
    tensors: tuple[ServedTensor, ...]
    accelerators: tuple[str, ...] = ()


class BuildCommand(Struct, frozen=True):
    """A command line or server configuration that builds or runs an engine.

    Attributes:
        tool: the program.
        options: the options of the program, in order.
        words: arguments that do not begin with a dash; the program rejects them.
        complete: whether all options are known; False if a shell variable may contain further options.
        source: the file; empty for a command given as text.
        line: line of the file, from 1.
        text: the command in one line.
        served: the served model, for a server configuration.
    """

    tool: Tool
    options: tuple[Option, ...]
    words: tuple[str, ...] = ()
    complete: bool = True
    source: str = ""
    line: int = 1
    text: str = ""
    served: ServerConfiguration | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the options, without duplicates."""
        return tuple(dict.fromkeys(option.name for option in self.options))

    def option(self, name: str) -> Option | None:
        """Return the last option with this name, or None. The last option overrides earlier options."""
        return next((option for option in reversed(self.options) if option.name == name), None)

    @property
    def switches(self) -> Mapping[str, bool]:
        """The builder settings that the command turns on or off, such as ``fp16`` and ``tf32``.

        The result is empty for a command that loads an engine, because the command builds nothing.
        """
        if self.served is not None:
            option = self.option("precision_mode")
            mode = None if option is None else _MODES.get(option.value or "")
            return {} if mode is None else {mode: True}
        if self.tool == "onnxruntime":
            given = ((self.option(name), mode) for name, mode in _PRECISIONS.items())
            return {
                mode: True
                for option, mode in given
                if option is not None and BOOLEANS.get(option.value or "")
            }
        if "--loadEngine" in self.names:
            return {}
        return dict(_SWITCHES[name] for name in self.names if name in _SWITCHES)

    @property
    def provider(self) -> Provider | None:
        """The ONNX Runtime provider that the command configures, or None if it configures none."""
        if self.tool == "triton":
            return None if self.option("tensorrt") is None else "tensorrt"
        named = self.option("provider") if self.tool == "onnxruntime" else None
        return None if named is None else next((each for each in PROVIDERS if each == named.value), None)

    @property
    def model(self) -> str | None:
        """The ONNX file in the command, or None if the option is missing or contains a variable."""
        names = {"triton": "default_model_filename", "onnxruntime": "model"}
        option = self.option(names.get(self.tool, "--onnx"))
        return option.value if option is not None and option.known else None

    @property
    def builds(self) -> bool:
        """True if the command builds an engine; False if it only runs or inspects an engine."""
        if self.served is not None or self.tool == "onnxruntime":
            return True
        return "--onnx" in self.names and "--loadEngine" not in self.names

    @property
    def place(self) -> str:
        """The position of the command, such as ``build.sh:12``.  Empty for a command given as text."""
        if self.served is not None:
            return self.source
        return f"{self.source}:{self.line}" if self.source else ""


Search = Callable[[str, str], Iterator[BuildCommand]]
"""Function that finds the build commands in a text. Its second argument is the name of the file."""


def command(arguments: Sequence[str], tool: Tool, *, source: str = "", line: int = 1) -> BuildCommand:
    """Create a build command from the arguments after the name of the program."""
    options: list[Option] = []
    words: list[str] = []
    complete = True
    optional = False
    for word in arguments:
        if optional or _OPTIONAL.match(word):
            optional, complete = not word.endswith("]"), False
            continue
        name, equals, value = word.partition("=")
        if not name.startswith("-"):
            complete &= VARIABLE.search(word) is None
            if VARIABLE.search(word) is None:
                words.append(word)
        elif VARIABLE.search(name):
            complete = False
        elif not equals:
            options.append(Option(name))
        elif VARIABLE.search(value):
            options.append(Option(name, None, known=False))
        else:
            options.append(Option(name, value))
    text = " ".join([tool, *(option.text for option in options), *words])
    return BuildCommand(tool, tuple(options), tuple(words), complete, source, line, text)


def file_name(path: str) -> str:
    """Return the last part of a path of Linux or Windows."""
    return PureWindowsPath(path).name if "\\" in path else PurePath(path).name


def provider_command(
    provider: Provider,
    options: Iterable[Option],
    source: str,
    line: int,
    model: str = "",
    *,
    complete: bool = True,
) -> BuildCommand:
    """Return the options of an execution provider as a build command of ONNX Runtime.

    Args:
        provider: the provider.
        options: its options.
        source: the name of the file, for reports.
        line: the line of the options in the file.
        model: the model of the session; empty if unknown.
        complete: whether the file certainly gives no other options.
    """
    listed = [Option("provider", provider), *([Option("model", model)] if model else []), *options]
    del listed[_MOST_OPTIONS:]
    text = " ".join(["onnxruntime", *(option.text for option in listed)])
    return BuildCommand("onnxruntime", tuple(listed), complete=complete, source=source, line=line, text=text)


def matches(name: str, pattern: str) -> bool:
    """Return whether a pattern from an option matches the name of an input or a layer.

    The pattern may contain one ``*``.
    https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleUtils.cpp (matchStringWithOneWildcard)
    """
    before, star, after = pattern.partition("*")
    if not star:
        return name == pattern
    return len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)


def tool_of(word: str) -> Tool | None:
    """Return the program that a word of a shell command names, such as ``/opt/bin/trtexec``.

    A variable such as ``$TRTEXEC``, ``${TRTEXEC_PATH}`` or ``%TRTEXEC%`` also names a program, and so does
    a variable whose default is a program.  For other words, the result is None.
    """
    if "=" in word:
        return None  # an assignment such as TRTEXEC=/usr/src/tensorrt/bin/trtexec
    default = _DEFAULT.fullmatch(word)
    if default is not None:
        word = default.group(1)
    name = file_name(word).casefold().removesuffix(".exe")
    if name.startswith(("$", "%")):
        name = _OF_PROGRAM.sub("", name.strip("$(){}%"))
    if name in ("trtexec", "trt_exec"):
        return "trtexec"
    return "tensorrt_rtx" if name == "tensorrt_rtx" else None
