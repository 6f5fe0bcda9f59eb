"""The GPUs, their compute capability and what they compute in."""

from __future__ import annotations

import re
from functools import cache

from trtlint.knowledge import data
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
    their number: an ``RTX 4070 Ti`` is one of the ``RTX 40``.
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
    return None


def gpu_names() -> tuple[str, ...]:
    """Every name that :func:`find_gpu` knows, series included."""
    return tuple(name for entry in architectures() for name in (*entry.names, *entry.families))


_MEMBER = r"(|xx|series|[1-9]0(ti|super|tisuper|d|maxq|laptop|mobile|laptopgpu)?)"
"""What may follow the squeezed name of a series: nothing, or the rest of a model number."""
_BOARD = re.compile(
    r"pcie|sxm\d?|nvl|\d+gb|hbm\d?e?|workstation|server|edition|generation|developer|kit", re.IGNORECASE
)
"""Words that nvidia-smi and shops add to the name of a GPU."""
_NOISE = re.compile(r"nvidia|geforce|tesla|[®™\s_-]")


def _squeeze(text: str) -> str:
    return _NOISE.sub("", text.casefold())
