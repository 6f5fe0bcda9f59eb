"""Read configurations of Triton Inference Server, ``config.pbtxt``: build options and served tensors.

A configuration is a ``ModelConfig`` message in protobuf's text format.  This module declares the fields that
it reads, and skips all other fields.  A list of messages must be declared even if it is skipped.
https://github.com/triton-inference-server/common/blob/08365ea/protobuf/model_config.proto

TensorRT builds an ONNX model if the ONNX Runtime backend has an accelerator ``tensorrt``:
https://github.com/triton-inference-server/onnxruntime_backend/blob/00fd3e8/README.md
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from trtlint.buildcommand.command import (
    BuildCommand,
    CommandError,
    Option,
    Role,
    ServedTensor,
    ServerConfiguration,
)
from trtlint.files.beside import real_file
from trtlint.files.brackets import deepest
from trtlint.files.regular import read_bytes

NAME = "config.pbtxt"
_MOST_BYTES = 1 << 20
_DEEPEST = 50
"""Maximum depth of nested messages. The deepest field of a valid configuration has depth 8."""
_MOST_TENSORS = 10_000
_LONGEST_REASON = 200
"""Maximum length of a protobuf error in a message of trtlint.  Protobuf quotes the whole line."""

_STRING, _INT32, _INT64, _BOOL, _ENUM, _MESSAGE = 9, 5, 3, 8, 14, 11
"""Numbers of field types in protobuf.

https://github.com/protocolbuffers/protobuf/blob/main/src/google/protobuf/descriptor.proto
"""
_TYPES = (
    "TYPE_INVALID", "TYPE_BOOL", "TYPE_UINT8", "TYPE_UINT16", "TYPE_UINT32", "TYPE_UINT64", "TYPE_INT8",
    "TYPE_INT16", "TYPE_INT32", "TYPE_INT64", "TYPE_FP16", "TYPE_FP32", "TYPE_FP64", "TYPE_STRING",
    "TYPE_BF16",
)  # fmt: skip
_KINDS = ("KIND_AUTO", "KIND_GPU", "KIND_CPU", "KIND_MODEL")
_TENSOR = {
    "name": (1, _STRING, ""),
    "data_type": (2, _ENUM, "DataType"),
    "dims": (4, _INT64, "*"),
    "reshape": (5, _MESSAGE, "Reshape"),
    "allow_ragged_batch": (7, _BOOL, ""),
}
_LISTS = (
    "agents", "control", "control_input", "cpu_execution_accelerator", "graph_lower_bound", "graph_spec",
    "initial_state", "input", "input_map", "inputs", "metric_control", "output_map", "parameters",
    "priority_queue_policy", "resources", "secondary_devices", "state", "step",
)  # fmt: skip
"""Names of repeated message fields in skipped messages."""
_SKIPPED = (_MESSAGE, "*Skipped")
_MESSAGES: dict[str, dict[str, tuple[int, int, str]]] = {
    "Skipped": {name: (number, *_SKIPPED) for number, name in enumerate(_LISTS, 1)},
    "Reshape": {"shape": (1, _INT64, "*")},
    "Tensor": _TENSOR,
    "Group": {
        "kind": (4, _ENUM, "Kind"),
        "rate_limiter": (6, *_SKIPPED),
        "secondary_devices": (8, *_SKIPPED),
    },
    "Parameter": {"key": (1, _STRING, ""), "value": (2, _STRING, "")},
    "Accelerator": {"name": (1, _STRING, ""), "parameters": (2, _MESSAGE, "*Parameter")},
    "Accelerators": {
        "gpu_execution_accelerator": (1, _MESSAGE, "*Accelerator"),
        "cpu_execution_accelerator": (2, *_SKIPPED),
    },
    "Optimization": {"cuda": (3, *_SKIPPED), "execution_accelerators": (4, _MESSAGE, "Accelerators")},
    "Config": {
        "platform": (2, _STRING, ""),
        "backend": (17, _STRING, ""),
        "max_batch_size": (4, _INT32, ""),
        "input": (5, _MESSAGE, "*Tensor"),
        "output": (6, _MESSAGE, "*Tensor"),
        "instance_group": (7, _MESSAGE, "*Group"),
        "default_model_filename": (8, _STRING, ""),
        "cc_model_filenames": (9, *_SKIPPED),
        "metric_tags": (10, *_SKIPPED),
        "dynamic_batching": (11, *_SKIPPED),
        "optimization": (12, _MESSAGE, "Optimization"),
        "sequence_batching": (13, *_SKIPPED),
        "parameters": (14, *_SKIPPED),
        "ensemble_scheduling": (15, *_SKIPPED),
        "model_warmup": (16, *_SKIPPED),
        "batch_input": (20, *_SKIPPED),
        "batch_output": (21, *_SKIPPED),
        "model_repository_agents": (23, *_SKIPPED),
        "model_metrics": (26, *_SKIPPED),
    },
}
"""For the name of each message, the fields that this module declares.

Each field has its number, its type, and the name of its enum or message.  ``*`` marks repeated fields.
"""

_STARTS = re.compile(r"\s*(?:#[^\n]*\n\s*)*[a-z_]+\s*[:{\[]")
_PLATFORMS = {"onnxruntime_onnx": "onnxruntime", "tensorrt_plan": "tensorrt"}


def is_config(text: str) -> bool:
    """Return whether a text may be a ``config.pbtxt``: it begins with a field name of this format."""
    return _STARTS.match(text) is not None


def config_beside(model: Path) -> Path | None:
    """Return the ``config.pbtxt`` of a model in a Triton repository, or None if there is none.

    The file is ``NAME/config.pbtxt`` for the model ``NAME/1/model.onnx``:
    https://github.com/triton-inference-server/server/blob/main/docs/user_guide/model_repository.md

    Raises:
        CommandError: the file is a link to a file in another folder. The user must give such a file with
            ``--build``.
    """
    if not model.parent.name.isdecimal():
        return None
    config = model.parent.parent / NAME
    if not config.is_file():
        return None
    if real_file(config.parent, NAME, model) is None:
        raise CommandError(
            f"{config}: this is a link to a file in another folder; pass that file with --build"
        )
    return config


def read_config(path: Path) -> BuildCommand:
    """Read a ``config.pbtxt`` as a build command.

    Raises:
        CommandError: the file cannot be read.
    """
    try:
        text = read_bytes(path, _MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandError(f"{path}: not UTF-8") from None
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from None
    return parse_config(text, str(path))


def parse_config(text: str, source: str = "") -> BuildCommand:
    """Parse the text of a ``config.pbtxt`` as a build command.

    Args:
        text: the configuration, in protobuf's text format.
        source: the name of the file, for reports.

    Raises:
        CommandError: the text is not a configuration. The message has the line number.
    """
    from google.protobuf import text_format

    if deepest(text, "{<[", "}>]")[0] > _DEEPEST:
        raise CommandError(f"{source or NAME}: messages are nested more than {_DEEPEST} deep")
    config = _message()()
    try:
        text_format.Parse(text, config, allow_unknown_field=True)
    except text_format.ParseError as error:
        line, place = error.GetLine(), source or NAME
        reason = " ".join(str(error).split()).removeprefix(f"{line}:{error.GetColumn()} : ")[:_LONGEST_REASON]
        raise CommandError(
            f"{place}{f':{line}' if line else ''}: not a Triton configuration: {reason}"
        ) from None
    except (ValueError, RecursionError) as error:  # a number out of range
        reason = str(error)[:_LONGEST_REASON]
        raise CommandError(f"{source or NAME}: not a Triton configuration: {reason}") from None
    return _command(config, source)


def _command(config: Any, source: str) -> BuildCommand:
    backend = config.backend or _PLATFORMS.get(config.platform, config.platform) or "onnxruntime"
    # The ONNX Runtime backend uses accelerators only if the model may run on a GPU.
    used = backend == "onnxruntime" and _on_gpu(config)
    accelerators = config.optimization.execution_accelerators.gpu_execution_accelerator if used else ()
    options: list[Option] = []
    if config.default_model_filename:
        options.append(Option("default_model_filename", config.default_model_filename))
    chosen = next((each for each in accelerators if each.name == "tensorrt"), None)
    if chosen is not None:
        options += [Option("tensorrt"), *(Option(each.key, each.value) for each in chosen.parameters)]
    tensors = [*_tensors(config.input, "input"), *_tensors(config.output, "output")]
    if len(tensors) > _MOST_TENSORS:
        raise CommandError(f"{source or NAME}: more than {_MOST_TENSORS:,} inputs and outputs")
    words = " ".join(["triton", backend, *(option.text for option in options)])
    served = ServerConfiguration(
        backend, max(0, config.max_batch_size), tuple(tensors), tuple(each.name for each in accelerators)
    )
    return BuildCommand("triton", tuple(options), source=source, text=words, served=served)


def _on_gpu(config: Any) -> bool:
    """Return whether Triton may run the model on a GPU."""
    kinds = [group.kind for group in config.instance_group]
    return not kinds or any(_KINDS[kind] in ("KIND_AUTO", "KIND_GPU") for kind in kinds)


def _tensors(listed: Any, role: Role) -> list[ServedTensor]:
    return [
        ServedTensor(
            role=role,
            name=tensor.name,
            data_type=_TYPES[tensor.data_type],
            dims=tuple(tensor.reshape.shape if tensor.HasField("reshape") else tensor.dims),
            ragged=tensor.allow_ragged_batch,
        )
        for tensor in listed
    ]


@cache
def _message() -> Any:
    """Return the protobuf message class of a ``config.pbtxt``."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="trtlint_triton.proto", package="trtlint.triton")
    file.syntax = "proto2"  # proto3, the file's own syntax, accepts undefined enum numbers
    for name, values in (("DataType", _TYPES), ("Kind", _KINDS)):
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, held) in fields.items():
            label = 3 if held.startswith("*") else 1
            added = message.field.add(name=field, number=number, type=kind, label=label)
            if held.strip("*"):
                added.type_name = f".trtlint.triton.{held.strip('*')}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("trtlint.triton.Config"))
