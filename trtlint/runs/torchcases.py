"""Read scripts and programs for Torch-TensorRT that are passed to the Python API."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from trtlint.errors import SettingError
from trtlint.knowledge.torchreleases import torch_release
from trtlint.runs.torchjob import TorchInput, is_torch, read_input
from trtlint.target.target import Target
from trtlint.torch_tensorrt.asking import TorchRequest
from trtlint.torch_tensorrt.options import for_release, run_options


@contextmanager
def program_saved(path: Any) -> Iterator[tuple[Sequence[str], bool]]:
    """Return a context manager with two values: the paths of scripts and programs, and a truth value.

    A program in memory is saved to a temporary file, which is deleted at the end of the ``with`` block.  The
    second value is True if this temporary file is the only path.

    Raises:
        TypeError: ``path`` is neither a path nor an exported program.
    """
    if isinstance(path, str | os.PathLike):
        yield [os.fspath(path)], False
    elif hasattr(path, "graph_signature") and "torch" in sys.modules:
        # The caller has made an object of torch, so torch is imported already.
        with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
            file = os.path.join(folder, "program.pt2")  # noqa: PTH118
            sys.modules["torch"].export.save(path, file)
            yield [file], True
    elif isinstance(path, Iterable):
        yield [os.fspath(each) for each in path], False
    else:
        raise TypeError(f"{type(path).__name__} is neither a path nor an exported program")


def torch_inputs(
    paths: Iterable[str],
    targets: Sequence[Target],
    keywords: Mapping[str, Any],
    level: Literal["parse", "build"] | None,
    *,
    trusted: bool,
) -> Iterator[tuple[TorchInput, tuple[Target, ...]]]:
    """Yield each script or exported program as evidence, with its targets.

    Raises:
        SettingError: the release is unknown, or a file is neither a script nor a program.
    """
    release = torch_release(str(keywords["torch_tensorrt"]))
    request = None
    if level is not None:
        python, wheel = keywords.get("torch_python"), keywords.get("torch_wheel")
        request = TorchRequest(
            release=release.version,
            python=None if python is None else os.fspath(python),
            wheel=None if wheel is None else str(Path(wheel).absolute()),
            options=run_options(keywords.get("options") or {}),
            build=level == "build",
            trusted=trusted or bool(keywords.get("trust_pickle")),
        )
    for name in paths:
        if not is_torch(name):
            raise SettingError(
                f"{name}: torch_tensorrt requires a Python script or an exported program (.pt2)"
            )
        given = read_input(Path(name), release, request)
        yield given, for_release(targets, release, given.options)
