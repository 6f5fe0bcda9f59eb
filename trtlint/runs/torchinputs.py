"""Create tasks about Torch-TensorRT: scripts, calls given as text, and exported programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trtlint.errors import SettingError
from trtlint.knowledge.torchreleases import SCRIPTS, TorchRelease
from trtlint.policy.options import LintOptions
from trtlint.policy.settings import SettingsReader
from trtlint.runs.task import Task

if TYPE_CHECKING:
    from trtlint.engine.evidence.torch import TorchScriptEvidence
    from trtlint.runs.torchjob import TorchInput
    from trtlint.torch_tensorrt.asking import TorchRequest
    from trtlint.torch_tensorrt.calls import TorchCall

TEXT = "--build"
"""The name that reports give to a call in the value of ``--build``."""


def torch_tasks(
    reader: SettingsReader, options: LintOptions, release: TorchRelease, paths: Iterable[str]
) -> list[Task]:
    """Return a task for each script and exported program, and for a call in ``--build``.

    Args:
        reader: the settings.
        options: the command line.
        release: the release of Torch-TensorRT.
        paths: the scripts and programs.

    Raises:
        SettingError: an option cannot be used.
    """
    from trtlint.runs.torchjob import PROGRAM, TorchInput, read_input

    mine, build = list(dict.fromkeys(paths)), options.torch.build
    if not mine and build is None:
        raise SettingError(
            "--torch-tensorrt needs a Python script or notebook, a program (.pt2), or a call in --build"
        )
    programs = any(path.lower().endswith(PROGRAM) for path in mine)
    inputs: list[TorchInput] = []
    calls: tuple[TorchCall, ...] = ()
    if build is not None and build.endswith(SCRIPTS):
        mine.insert(0, build)
    elif build is not None:
        evidence = _text_evidence(build, release, checked=not programs)
        inputs.append(TorchInput(Path(TEXT), (evidence,)))
        # The call that compiles a program gives the options of the dry run.
        calls = evidence.script.calls
    request = _request(options, release, calls) if programs else None
    inputs += [read_input(Path(path), release, request) for path in mine]
    return [_task(reader, release, each) for each in inputs]


def _text_evidence(text: str, release: TorchRelease, *, checked: bool) -> TorchScriptEvidence:
    """Read a call of Torch-TensorRT in the value of ``--build``.

    If ``checked`` is true, a text without a call of Torch-TensorRT is an error.
    """
    from trtlint.engine.evidence.torch import text_evidence
    from trtlint.files.problem import UnreadableError

    try:
        evidence = text_evidence(text, TEXT, release.version)
    except UnreadableError as error:
        raise SettingError(str(error)) from None
    if checked and not evidence.script.calls:
        raise SettingError(
            "--build: the script does not call torch_tensorrt.compile or another "
            "compiler function of Torch-TensorRT"
        )
    return evidence


def _task(reader: SettingsReader, release: TorchRelease, given: TorchInput) -> Task:
    from trtlint.torch_tensorrt.options import for_release

    settings = reader.settings_of(given.path)
    targets = for_release(settings.targets, release, given.options)
    return Task.of(replace(settings, targets=targets), given.evidence, given.problems, alone=True)


def _request(options: LintOptions, release: TorchRelease, calls: Sequence[TorchCall]) -> TorchRequest | None:
    """Return a request for a dry run of Torch-TensorRT, or None if ``--dry-build`` is not given."""
    from trtlint.process.spawn import Limits
    from trtlint.torch_tensorrt.asking import USUAL, TorchRequest
    from trtlint.torch_tensorrt.options import options_of

    torch, dry = options.torch, options.dry
    if dry.level not in ("parse", "build"):
        return None
    return TorchRequest(
        release=release.version,
        python=torch.python,
        wheel=None if torch.wheel is None else str(Path(torch.wheel).absolute()),
        options=options_of(calls),
        build=dry.level == "build",
        trusted=torch.trust_pickle,
        limits=Limits(dry.seconds or USUAL.seconds, dry.memory or USUAL.memory),
    )
