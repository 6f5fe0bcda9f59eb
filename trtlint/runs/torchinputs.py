"""Create tasks about Torch-TensorRT: scripts, calls given as text, and exported programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trtlint.buildcommand.pasted import is_call
from trtlint.errors import SettingError
from trtlint.knowledge.torchreleases import SCRIPTS, TorchRelease, TorchReleaseError, torch_release
from trtlint.policy.options import LintOptions, Spelling, TorchOptions
from trtlint.runs.evidence import ModelEvidence
from trtlint.runs.task import SettingsSource, Task

if TYPE_CHECKING:
    from trtlint.engine.evidence.torch import TorchScriptEvidence
    from trtlint.runs.torchjob import TorchInput
    from trtlint.torch_tensorrt.asking import TorchRequest
    from trtlint.torch_tensorrt.calls import TorchCall

PROGRAM = ".pt2"
"""Suffix of an exported program."""
TEXT = "--build"
"""The name that reports give to a call in the value of ``--build``."""


def is_torch(path: str) -> bool:
    """Return whether a path is a Python script, a notebook or an exported program."""
    return path.lower().endswith((*SCRIPTS, PROGRAM))


def torch_options_of(given: Mapping[str, Any], build: str | None, spelling: Spelling) -> TorchOptions:
    """Return the options for Torch-TensorRT.

    Args:
        given: the values of the options ``torch_tensorrt``, ``torch_python``, ``torch_wheel`` and
            ``trust_pickle``, and the keyword ``options``, by name.
        build: the build command; None if unset.
        spelling: returns the name of an option, for messages.

    Raises:
        SettingError: an option needs a release, or the release is unknown.
    """
    text, python, wheel = (given.get(name) for name in ("torch_tensorrt", "torch_python", "torch_wheel"))
    needed = spelling("torch_tensorrt")
    release = None
    if text is not None:
        try:
            release = torch_release(text)
        except TorchReleaseError as error:
            raise SettingError(f"{needed}: {error}") from None
    for name, value in (("torch_python", python), ("torch_wheel", wheel)):
        if release is None and value is not None:
            raise SettingError(f"{spelling(name)} needs {needed} VERSION")
    return TorchOptions(
        release=release,
        python=python,
        wheel=wheel,
        trust_pickle=bool(given.get("trust_pickle")),
        build=build if build is not None and _is_for_torch(build, release, spelling) else None,
        arguments=given.get("options"),
    )


def require_release(paths: Iterable[str], torch: TorchOptions, spelling: Spelling) -> None:
    """Check that scripts and programs have a release of Torch-TensorRT.

    Raises:
        SettingError: there is a script or program, but no release.
    """
    for path in paths:
        if torch.release is None and is_torch(path):
            needed = spelling("torch_tensorrt")
            raise SettingError(f"{path}: no Torch-TensorRT release is given; add {needed} 2.13")


def _is_for_torch(build: str, release: TorchRelease | None, spelling: Spelling) -> bool:
    """Return whether a build command is a script or a call of Torch-TensorRT.

    Raises:
        SettingError: the text is a call, but no release is given.
    """
    script = build.endswith(SCRIPTS) and release is not None and Path(build).is_file()
    if not script and not is_call(build):
        return False
    if release is None:
        raise SettingError(
            f"{spelling('build')}: the text is a Torch-TensorRT call, which trtlint checks for one release; "
            f"add for example {spelling('torch_tensorrt')} 2.13"
        )
    return True


def torch_tasks(
    reader: SettingsSource, options: LintOptions, release: TorchRelease, paths: Iterable[str]
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
    from trtlint.runs.torchjob import TorchInput, read_input
    from trtlint.torch_tensorrt.options import for_release

    mine, build = list(dict.fromkeys(paths)), options.torch.build
    if not mine and build is None:
        raise SettingError(
            f"{options.spelling('torch_tensorrt')} needs a Python script, a notebook, an exported program "
            f"(.pt2), or a call in {options.spelling('build')}"
        )
    programs = any(path.lower().endswith(PROGRAM) for path in mine)
    inputs: list[TorchInput] = []
    calls: tuple[TorchCall, ...] = ()
    if build is not None and build.endswith(SCRIPTS):
        mine.insert(0, build)
    elif build is not None:
        evidence = _text_evidence(build, release, options.spelling("build"), checked=not programs)
        inputs.append(TorchInput(Path(TEXT), (evidence,)))
        # The call that compiles a program gives the options of the dry run.
        calls = evidence.script.calls
    request = _request(options, release, calls) if programs else None
    inputs += [read_input(Path(path), release, request) for path in mine]
    tasks = []
    for given in inputs:
        settings = reader.settings_of(given.path)
        settings = replace(settings, targets=for_release(settings.targets, release, given.options))
        tasks.append(Task.of(settings, ModelEvidence(given.evidence, given.problems), alone=True))
    return tasks


def _text_evidence(text: str, release: TorchRelease, name: str, *, checked: bool) -> TorchScriptEvidence:
    """Read a call of Torch-TensorRT in the value of ``--build``, whose name in messages is ``name``.

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
            f"{name}: the script does not call torch_tensorrt.compile or another "
            "compiler function of Torch-TensorRT"
        )
    return evidence


def _request(options: LintOptions, release: TorchRelease, calls: Sequence[TorchCall]) -> TorchRequest | None:
    """Return a request for a dry run of Torch-TensorRT, or None if no dry build is requested."""
    from trtlint.process.spawn import Limits
    from trtlint.torch_tensorrt.asking import USUAL, TorchRequest
    from trtlint.torch_tensorrt.options import options_of, run_options

    torch, dry = options.torch, options.dry
    if dry.level not in ("parse", "build"):
        return None
    return TorchRequest(
        release=release.version,
        python=torch.python,
        wheel=None if torch.wheel is None else str(Path(torch.wheel).absolute()),
        options=options_of(calls) if torch.arguments is None else run_options(torch.arguments),
        build=dry.level == "build",
        trusted=torch.trust_pickle,
        limits=Limits(dry.seconds or USUAL.seconds, dry.memory or USUAL.memory),
    )
