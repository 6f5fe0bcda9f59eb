"""Convert options of a dry run to data for another process, and derive the settings of targets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trtlint.knowledge.torchreleases import TorchRelease
from trtlint.target.target import Target
from trtlint.torch_tensorrt.calls import TorchCall
from trtlint.torch_tensorrt.values import UNKNOWN, QualifiedName

_OWN = frozenset(
    {"ir", "module", "exported_program", "inputs", "arg_inputs", "kwarg_inputs", "device", "dryrun"}
)
"""Arguments that trtlint itself sets in a dry run."""
DTYPES: Mapping[str, str] = {
    "half": "float16", "f16": "float16", "float16": "float16", "fp16": "float16",
    "float": "float32", "f32": "float32", "float32": "float32", "fp32": "float32",
    "bfloat16": "bfloat16", "bf16": "bfloat16",
    "int8": "int8", "i8": "int8",
    "float8_e4m3fn": "float8_e4m3fn", "f8": "float8_e4m3fn", "fp8": "float8_e4m3fn",
    "float4_e2m1fn_x2": "float4_e2m1fn_x2", "f4": "float4_e2m1fn_x2", "fp4": "float4_e2m1fn_x2",
}  # fmt: skip
"""For each name or alias of an element type in torch or torch_tensorrt, its name in torch:
https://github.com/pytorch/TensorRT/blob/v2.10.0/py/torch_tensorrt/_enums.py
"""
_OPERATOR = re.compile(r"torch\.ops\.\w{1,100}\.\w{1,100}(\.\w{1,100})?")
_MOST_ITEMS = 1000
_EXPLICIT = 10
"""First minor release whose networks are strongly typed by default.
https://github.com/pytorch/TensorRT/blob/v2.10.0/py/torch_tensorrt/dynamo/_defaults.py
"""
_ALWAYS_EXPLICIT = 13


class RunOptions(Struct, frozen=True):
    """Keyword arguments of the compiler for a dry run.

    Attributes:
        values: the arguments as JSON data, for :func:`trtlint.torch_tensorrt._dryrun.work`.
        dropped: arguments whose values cannot be passed to another process.
    """

    values: Mapping[str, Any]
    dropped: tuple[str, ...] = ()


def options_of(calls: Sequence[TorchCall]) -> RunOptions:
    """Return the arguments of the first call, except arguments that a dry run sets itself."""
    given = {each.name: each.value for call in calls[:1] for each in call.arguments}
    return run_options({name: value for name, value in given.items() if name not in _OWN})


def run_options(given: Mapping[str, object]) -> RunOptions:
    """Return keyword arguments as JSON data."""
    values: dict[str, Any] = {}
    dropped = []
    for name, value in given.items():
        found = _encoded(value)
        if found is UNKNOWN:
            dropped.append(str(name))
        else:
            values[str(name)] = found
    return RunOptions(values, tuple(dropped))


def _encoded(value: object) -> Any:
    """Return a value as JSON data, or :data:`UNKNOWN` if it cannot be converted.

    A type becomes a mapping with the key ``dtype``. A set, list or tuple becomes a mapping with the key
    ``set``.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (Sequence, Set)) and len(value) <= _MOST_ITEMS:
        items = [_encoded(each) for each in value]
        if any(each is UNKNOWN for each in items):
            return UNKNOWN
        return {"set": sorted(items, key=str) if isinstance(value, Set) else items}
    return _named(value.name if isinstance(value, QualifiedName) else str(value))


def _named(name: str) -> Any:
    """Return the JSON data for the name of a torch type or operator, or :data:`UNKNOWN` for other names."""
    package, _, last = name.rpartition(".")
    if package in ("torch", "torch_tensorrt", "torch_tensorrt.dtype", "dtype") and last in DTYPES:
        return {"dtype": DTYPES[last]}
    if name.startswith("aten."):
        name = f"torch.ops.{name}"
    return name if _OPERATOR.fullmatch(name) else UNKNOWN


def builder_flags(release: TorchRelease, options: Mapping[str, Any]) -> Mapping[str, bool]:
    """Return the known builder flags that Torch-TensorRT derives from options.

    Args:
        release: the release.
        options: the options, from :func:`run_options`.
    """
    explicit = options.get("use_explicit_typing", release.minor >= _EXPLICIT)
    found: dict[str, bool] = {}
    if explicit or release.minor >= _ALWAYS_EXPLICIT:
        found["strongly-typed"] = True
    else:
        listed = options.get("enabled_precisions")
        items = listed.get("set", ()) if isinstance(listed, dict) else ()
        types = {each.get("dtype") for each in items if isinstance(each, dict)}
        found |= {"fp16": "float16" in types, "bf16": "bfloat16" in types}
    if options.get("disable_tf32"):
        found["tf32"] = False
    return found


def for_release(
    targets: Iterable[Target], release: TorchRelease, options: Mapping[str, Any] | None = None
) -> tuple[Target, ...]:
    """Return the targets with the settings that a release of Torch-TensorRT implies.

    A target without a version gets the TensorRT version of the release.  With a dry run, targets also get the
    builder flags that Torch-TensorRT sets.  Flags of the user take precedence.

    Args:
        targets: the targets.  Targets of TensorRT-RTX stay unchanged.
        release: the release.
        options: the options of a dry run, from :func:`run_options`; None without a dry run.
    """
    flags: Mapping[str, bool] = {} if options is None else builder_flags(release, options)
    return tuple(
        (target if target.version is not None else replace(target, version=release.tensorrt)).completed(flags)
        if target.product == "tensorrt"
        else target
        for target in targets
    )
