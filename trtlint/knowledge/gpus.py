"""The GPUs, their compute capability and what they compute in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from trtlint.knowledge import data
from trtlint.knowledge.nearest import nearest
from trtlint.lean import dataclass


@dataclass(frozen=True, slots=True)
class Architecture:
    """The GPUs of one compute capability, from the file gpus.yaml.

    Attributes:
        sm: compute capability times ten, 89 for SM 8.9.
        arch: NVIDIA's name of the architecture, such as Ada.
        names: single GPUs.
        families: series such as ``RTX 40``.
        tf32: whether it computes in TF32; None where no source was seen, as for the next two.
        bf16: whether it computes in BF16.
        fp8: whether it computes in FP8.
        first: the first TensorRT that supports it, None where it is older than 8.6 or not stated.
        last: the last TensorRT that supports it, None where support goes on.
        rtx: the first TensorRT-RTX whose support matrix lists it, None where none does.
        instances: by the family of a cloud's instances, such as ``g5``, the GPU in them.
    """

    sm: int
    arch: str
    names: tuple[str, ...]
    families: tuple[str, ...]
    tf32: bool | None
    bf16: bool | None
    fp8: bool | None
    first: str | None
    last: str | None
    rtx: str | None
    instances: Mapping[str, str]


@cache
def architectures() -> tuple[Architecture, ...]:
    """Every known compute capability, lowest first."""
    return tuple(
        Architecture(
            row["sm"],
            row["arch"],
            tuple(row["names"]),
            tuple(row.get("families", ())),
            row.get("tf32"),
            row.get("bf16"),
            row.get("fp8"),
            row.get("first"),
            row.get("last"),
            row.get("rtx"),
            row.get("instances", {}),
        )
        for row in data("gpus")
    )


@cache
def architecture(sm: int) -> Architecture | None:
    """The GPUs of a compute capability, None if there is no such one."""
    return next((entry for entry in architectures() if entry.sm == sm), None)


def find_gpu(text: str) -> tuple[str, Architecture] | None:
    """The GPU that a name means, with the name to print; None if there is no such name.

    Case, blanks, dashes and the words NVIDIA, GeForce and Tesla do not matter, nor does what
    nvidia-smi adds of the board, as in ``NVIDIA A100-SXM4-80GB``.  Members of a series are told by
    their number: an ``RTX 4070 Ti`` is one of the ``RTX 40``, and so is a ``4070 Ti``.  An instance of a
    cloud (``g5.xlarge``) stands for its GPU.
    """
    wanted = _squeeze(" ".join(word for word in re.split(r"[\s_-]+", text) if not _BOARD.fullmatch(word)))
    for entry in architectures():
        for name in entry.names:
            if _squeeze(name) == wanted:
                return name, entry
    for entry in architectures():
        for family in entry.families:
            if re.fullmatch(_squeeze(family) + _MEMBER, wanted):
                return " ".join(text.split()), entry
            series, _, number = family.rpartition(" ")
            if re.fullmatch(number + _NUMBER, wanted):
                return f"{series} {' '.join(text.split())}", entry
    return _in_instance(text)


def _in_instance(text: str) -> tuple[str, Architecture] | None:
    """The GPU of a cloud instance such as ``g5.xlarge`` or ``g2-standard-4``."""
    family = re.split(r"[.-]", text.strip().casefold(), maxsplit=1)[0]
    if family == text.strip().casefold():
        return None
    for entry in architectures():
        if family in entry.instances:
            return entry.instances[family], entry
    return None


def near_gpus(text: str, count: int = 3) -> tuple[str, ...]:
    """The known names nearest to an unknown one: those of its own series, else those that look like it."""
    squeezed = _squeeze(text)
    letters = re.match(r"[a-z]*", squeezed)
    prefix = letters[0] if letters else ""
    series = [name for name in gpu_names() if prefix and _letters(name) == prefix]
    if prefix and not series:
        words = [word for word in re.split(r"[\s_-]+", text.casefold()) if word.isalpha() and len(word) > 2]
        series = [name for name in gpu_names() if any(word in name.casefold() for word in words)]
    alike = nearest(text, gpu_names(), count=count, cutoff=0.85)
    found = dict.fromkeys((*alike, *nearest(text, series, count=count, cutoff=0.2)))
    return tuple(found)[:count] or nearest(text, gpu_names(), count=count)


def _letters(name: str) -> str:
    """The letters that the squeezed form of a name begins with: ``rtx`` of ``RTX 40``."""
    found = re.match(r"[a-z]*", _squeeze(name))
    return found[0] if found else ""


def gpu_names() -> tuple[str, ...]:
    """Every name that :func:`find_gpu` knows, series included."""
    return tuple(name for entry in architectures() for name in (*entry.names, *entry.families))


_MEMBER = r"(|xx|series|[1-9]0(ti|super|tisuper|d|maxq|laptop|mobile|laptopgpu)?)"
"""What may follow the squeezed name of a series: nothing, or the rest of a model number."""
_NUMBER = r"[1-9]0(ti|super|tisuper|d|maxq|laptop|mobile|laptopgpu)?"
"""What follows the number of a series where a name is a number alone: ``4090``, ``3080 Ti``."""
_BOARD = re.compile(
    r"pcie|sxm\d?|nvl|\d+gb|hbm\d?e?|workstation|server|edition|generation|developer|kit", re.IGNORECASE
)
"""Words that nvidia-smi and shops add to the name of a GPU."""
_NOISE = re.compile(r"nvidia|geforce|tesla|[®™\s_-]")


def _squeeze(text: str) -> str:
    return _NOISE.sub("", text.casefold())
