"""Read the compute capability of a GPU, and the data types in which the GPU can compute."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from msgspec import Struct, convert, field

from trtlint.knowledge import data
from trtlint.knowledge.nearest import nearest

_NEAR = 3
"""Maximum number of GPUs that an error about an unknown GPU names."""


class Architecture(Struct, frozen=True):
    """The GPUs of one compute capability, from gpus.yaml.

    Attributes:
        sm: compute capability times ten, such as 89 for SM 8.9.
        names: the names of single GPUs, such as ``L4``.
        families: the names of series of GPUs, such as ``RTX 40``.
        tf32: whether the GPUs compute in TF32; None if not documented.
        bf16: whether the GPUs compute in BF16; None if not documented.
        fp8: whether the GPUs compute in FP8; None if not documented.
        first: the first TensorRT release that supports the GPUs; None if this release is older than 8.6 or
            unknown.
        last: the last TensorRT release that supports the GPUs; None if the newest release supports them.
        rtx: the first TensorRT-RTX release whose support matrix lists the GPUs, or None.
        instances: families of cloud instances, such as ``g5``, each with the name of the GPU in these
            instances.
    """

    sm: int
    names: tuple[str, ...]
    families: tuple[str, ...] = ()
    tf32: bool | None = None
    bf16: bool | None = None
    fp8: bool | None = None
    first: str | None = None
    last: str | None = None
    rtx: str | None = None
    instances: Mapping[str, str] = field(default_factory=dict)


@cache
def architectures() -> tuple[Architecture, ...]:
    """Return the GPUs of every known compute capability, the lowest capability first."""
    return convert(data("gpus"), tuple[Architecture, ...])


@cache
def architecture(sm: int) -> Architecture | None:
    """Return the GPUs of a compute capability, or None if the compute capability is unknown.

    ``sm`` is the compute capability times ten.
    """
    return next((entry for entry in architectures() if entry.sm == sm), None)


def find_gpu(text: str) -> tuple[str, Architecture] | None:
    """Return the printed name and the architecture of a GPU, or None if the GPU is unknown.

    The search ignores case, blanks, dashes and the words NVIDIA, GeForce and Tesla.  The search also ignores
    details from nvidia-smi, as in ``NVIDIA A100-SXM4-80GB`` and ``RTX 3080 Ti Laptop GPU``.  The number of a
    GPU identifies its series: ``RTX 4070 Ti`` and ``4070 Ti`` belong to ``RTX 40``.  ``text`` is the name of
    a GPU, or of a cloud instance such as ``g5.xlarge``.
    """
    words = re.split(r"[\s_-]+", _MOBILE.sub("", _INSTANCE.sub("", text.strip())))
    wanted = _squeeze(" ".join(word for word in words if not _BOARD.fullmatch(word)))
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
    """Find the GPU of a cloud instance such as ``g5.xlarge`` or ``g2-standard-4``."""
    name = text.strip().casefold()
    # The longest matching family applies: a3-ultragpu-8g belongs to a3-ultragpu, a3-highgpu-8g to a3.
    for cut in reversed([found.start() for found in re.finditer(r"[.-]", name)]):
        for entry in architectures():
            if name[:cut] in entry.instances:
                return entry.instances[name[:cut]], entry
    return None


def near_gpus(text: str) -> tuple[str, ...]:
    """Return a few known GPU names that are similar to an unknown name.

    Very similar names come first, then names of the same series.  If no name is very similar or of the same
    series, the result contains the most similar names of all GPUs.
    """
    prefix = _letters(text)
    series = [name for name in gpu_names() if prefix and _letters(name) == prefix]
    if prefix and not series:
        words = [word for word in re.split(r"[\s_-]+", text.casefold()) if word.isalpha() and len(word) > 2]
        series = [name for name in gpu_names() if any(word in name.casefold() for word in words)]
    alike = nearest(text, gpu_names(), count=_NEAR, cutoff=0.85)
    found = dict.fromkeys((*alike, *nearest(text, series, count=_NEAR, cutoff=0.2)))
    return tuple(found)[:_NEAR] or nearest(text, gpu_names(), count=_NEAR)


def _letters(name: str) -> str:
    """Return the letters at the start of a GPU name, in lower case: ``rtx`` for ``RTX 40``."""
    return re.split(r"[^a-z]", _squeeze(name), maxsplit=1)[0]


def gpu_names() -> tuple[str, ...]:
    """Return all names that :func:`find_gpu` accepts, including names of series."""
    return tuple(name for entry in architectures() for name in (*entry.names, *entry.families))


_NUMBER = r"[1-9]0(ti|super|tisuper|d|maxq|laptop|mobile|laptopgpu)?"
"""Regular expression for the rest of a model number, after the number of the series.

It matches the text after ``40`` in ``4090``, and the text after ``30`` in ``3080 Ti``.
"""
_MEMBER = rf"(|xx|series|{_NUMBER})"
"""Regular expression for the text after a series name such as ``rtx40``, in lower case without blanks."""
_BOARD = re.compile(
    r"pcie|sxm\d?|nvl|\d+gb|hbm\d?e?|workstation|server|edition|generation|developer|kit"
    r"|grid|\d{1,2}[abcq]\d?|\(nvgpu\)",
    re.IGNORECASE,
)
"""Pattern of the words that NVIDIA's tools and shops add to a GPU name.

A virtual GPU is called ``GRID T4-16Q`` or ``NVIDIA A10-24Q``: the suffix is the memory size and the series.
https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/index.html
"""
_INSTANCE = re.compile(r"( MIG \d+[cg][.\w+-]*|-\d-\d+C)$", re.IGNORECASE)
"""Pattern of the suffix for a MIG instance, as in ``A100-SXM4-40GB MIG 1g.5gb`` and ``GRID A100-4-20C``."""
_MOBILE = re.compile(r" (laptop( gpu)?|mobile|(with )?max-q( design)?)$", re.IGNORECASE)
"""Pattern of the words that end the name of a laptop GPU."""
_NOISE = re.compile(r"nvidia|geforce|tesla|[®™\s_-]")


def _squeeze(text: str) -> str:
    return _NOISE.sub("", text.casefold())
