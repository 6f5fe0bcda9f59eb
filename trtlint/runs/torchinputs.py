"""Create tasks about Torch-TensorRT: scripts, calls given as text, and exported programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trtlint.engine.evidence.base import Evidence, PendingEvidence
from trtlint.errors import SettingError
from trtlint.files.problem import Problem
from trtlint.knowledge.torchreleases import TorchRelease
from trtlint.policy.options import LintOptions
from trtlint.policy.settings import SettingsReader
from trtlint.runs.task import Task

if TYPE_CHECKING:
    from trtlint.torch_tensorrt.asking import TorchRequest

TEXT = "--build"
"""Name in reports of a call that is given as the value of ``--build``."""


def torch_tasks(reader: SettingsReader, options: LintOptions) -> tuple[list[Task], tuple[str, ...]]:
    """Return a task for each script and exported program, and the paths of all other files.

    Raises:
        SettingError: an option cannot be used.
    """
    if options.torch.release is None:
        return [], options.paths
    from trtlint.runs.torchjob import PROGRAM, is_torch

    mine = tuple(dict.fromkeys(path for path in options.paths if is_torch(path)))
    others = tuple(path for path in options.paths if not is_torch(path))
    if not mine and options.torch.build is None:
        raise SettingError("--torch-tensorrt needs a Python script, a program (.pt2), or a call in --build")
    made = _Torch(reader, options, options.torch.release)
    tasks = [made.task(Path(path)) for path in mine]
    # The call that compiles a program gives the options of the dry run. trtlint also checks this call.
    if options.torch.build is not None:
        tasks.insert(0, made.text(options.torch.build, checked=not any(p.endswith(PROGRAM) for p in mine)))
    return tasks, others


class _Torch:
    """Creates the tasks for one release of Torch-TensorRT."""

    def __init__(self, reader: SettingsReader, options: LintOptions, release: TorchRelease) -> None:
        self._reader, self._options, self._release = reader, options, release

    def task(self, path: Path) -> Task:
        """Return the task for the path of a script or exported program."""
        from trtlint.runs.torchjob import PROGRAM, torch_evidence

        request = self._request() if path.name.lower().endswith(PROGRAM) else None
        return self._task(path, *torch_evidence(path, self._release.version, request), request)

    def text(self, text: str, *, checked: bool) -> Task:
        """Return the task for a value of ``--build``.

        The value is a call of Torch-TensorRT, or the path of a script.
        If ``checked`` is true, a text without a call of Torch-TensorRT is an error.
        """
        from trtlint.engine.evidence.torch import text_evidence
        from trtlint.files.problem import UnreadableError

        if text.endswith(".py"):
            return self.task(Path(text))
        try:
            evidence = text_evidence(text, TEXT, self._release.version)
        except UnreadableError as error:
            raise SettingError(str(error)) from None
        if checked and not evidence.script.calls:
            raise SettingError(
                "--build: the script does not call torch_tensorrt.compile or another "
                "compiler function of Torch-TensorRT"
            )
        return self._task(Path(TEXT), (evidence,), ())

    def _task(
        self,
        path: Path,
        evidence: tuple[Evidence | PendingEvidence, ...],
        problems: tuple[Problem, ...],
        request: TorchRequest | None = None,
    ) -> Task:
        from trtlint.runs.torchjob import for_release

        task = Task.of(self._reader.settings_of(path), evidence, problems, alone=True)
        targets = for_release(task.case.targets, self._release, request)
        settings = replace(task.settings, targets=targets)
        return replace(task, settings=settings, case=replace(task.case, targets=targets))

    def _request(self) -> TorchRequest | None:
        """Return a request for a dry run of Torch-TensorRT, or None if ``--dry-build`` is not given."""
        from trtlint.process.spawn import Limits
        from trtlint.torch_tensorrt.asking import USUAL, TorchRequest
        from trtlint.torch_tensorrt.calls import calls_in
        from trtlint.torch_tensorrt.options import options_of

        torch, dry = self._options.torch, self._options.dry
        if dry.level not in ("parse", "build"):
            return None
        calls = calls_in(torch.build) if torch.build is not None and not torch.build.endswith(".py") else ()
        return TorchRequest(
            release=self._release.version,
            sm=0,
            python=torch.python,
            wheel=None if torch.wheel is None else str(Path(torch.wheel).absolute()),
            options=options_of(calls),
            build=dry.level == "build",
            trusted=torch.trust_pickle,
            limits=Limits(dry.seconds or USUAL.seconds, dry.memory or USUAL.memory),
        )
