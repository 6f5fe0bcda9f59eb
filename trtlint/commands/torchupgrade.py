"""``trtlint upgrade`` for scripts and programs: report changes between releases of Torch-TensorRT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec.structs import replace

from trtlint.commands.reportoptions import require_outputs
from trtlint.commands.streams import notify
from trtlint.errors import SettingError
from trtlint.files.problem import Problem, UnreadableError
from trtlint.knowledge.torchreleases import TorchRelease, TorchReleaseError, torch_range
from trtlint.policy.failing import grave
from trtlint.policy.review import Review
from trtlint.policy.settings import SettingsReader
from trtlint.report.outputs import write_all
from trtlint.runs.evidence import ModelEvidence
from trtlint.runs.exits import Exit
from trtlint.runs.progress import with_progress
from trtlint.runs.task import Task
from trtlint.runs.torchinputs import PROGRAM, is_torch

if TYPE_CHECKING:
    from trtlint.commands.upgrade import UpgradeOptions
    from trtlint.engine.evidence.torch import TorchScriptEvidence
    from trtlint.engine.torchupgrade import TorchUpgrade


def has_torch(paths: Sequence[str]) -> bool:
    """Return whether the paths are scripts or programs for Torch-TensorRT.

    Raises:
        SettingError: only some of the paths are scripts or programs.
    """
    mine = [path for path in paths if is_torch(path)]
    others = [path for path in paths if not is_torch(path)]
    if mine and others:
        raise SettingError(
            f"{mine[0]} needs releases of Torch-TensorRT for --from and --to, but {others[0]} needs "
            "releases of TensorRT; run trtlint upgrade separately for each file"
        )
    return bool(mine)


def run_torch_upgrade(options: UpgradeOptions) -> int:
    """Write the report for each script and program and return the exit code."""
    try:
        releases = torch_range(options.first, options.last)
    except TorchReleaseError as error:
        raise SettingError(f"--from {options.first} --to {options.last or 'newest'}: {error}") from None
    build = options.lint.build
    if build is not None or options.product != "tensorrt":
        name = "--product" if build is None else "--build"
        raise SettingError(f"{name} does not apply to scripts and programs of Torch-TensorRT")
    paths = [Path(path) for path in dict.fromkeys(options.lint.paths)]
    require_outputs(options.outputs, paths)
    reader = SettingsReader(options.lint, notify)
    found = list(
        with_progress(
            (_compared(path, reader, releases) for path in paths),
            len(paths),
            "comparing releases for",
            lambda index: paths[index].name,
        )
    )
    quiet = options.lint.quiet
    write_all(options.outputs, lambda format, file: _write(found, format, file, quiet=quiet), paths)
    if any(isinstance(each, Problem) for each in found):
        return Exit.UNREADABLE
    severe = grave(options.fail_on)
    last = len(releases) - 1
    failed = any(
        last in call.releases and call.finding.severity in severe and call.finding.confidence != "low"
        for each in found
        if not isinstance(each, Problem)
        for call in each.calls
    )
    return Exit.FINDINGS if failed else Exit.CLEAN


def _compared(path: Path, reader: SettingsReader, releases: Sequence[TorchRelease]) -> TorchUpgrade | Problem:
    """Compare the releases for a script or program, or return the reason why they cannot be compared."""
    from trtlint.engine.evidence.torch import script_evidence
    from trtlint.engine.torchupgrade import program_upgrade
    from trtlint.torch_tensorrt.program import read_program

    try:
        if path.name.lower().endswith(PROGRAM):
            return program_upgrade(read_program(path, releases[-1].version), releases)
        return _script(path, script_evidence(path, releases[0].version), reader, releases)
    except (UnreadableError, OSError) as error:
        return Problem.of(path, error)
    except MemoryError:
        return Problem(str(path), "not enough memory to compare the releases for this file")


def _script(
    path: Path, evidence: TorchScriptEvidence, reader: SettingsReader, releases: Sequence[TorchRelease]
) -> TorchUpgrade:
    from trtlint.engine.torchupgrade import script_upgrade
    from trtlint.torch_tensorrt.options import for_release

    settings = reader.settings_of(path)
    review, found = Review(), []
    for release in releases:
        own = replace(evidence, script=replace(evidence.script, release=release.version))
        case = Task.of(settings, ModelEvidence((own,)), alone=True).case
        # Each release has its own TensorRT version. The configured version is for ONNX models.
        targets = tuple(replace(each, version=None, previous=None) for each in case.targets[:1])
        case = replace(case, targets=for_release(targets, release))
        found.append([finding for report in case.report(review) for finding in report.findings])
    return script_upgrade(str(path), releases, found, evidence.notes)


def _write(found: Sequence[TorchUpgrade | Problem], format: str, file: TextIO, *, quiet: bool) -> None:
    upgrades = [each for each in found if not isinstance(each, Problem)]
    problems = [each for each in found if isinstance(each, Problem)]
    if format == "json":
        from trtlint.report.torchupgrade import dumps

        file.write(dumps(upgrades, problems) + "\n")
        return
    if format in ("markdown", "html"):
        from trtlint.report.document import render
        from trtlint.report.torchupgrade import page

        file.write(render(page(upgrades, problems), format))
        return
    from trtlint.report.torchupgrade import TorchUpgradeReport

    report = TorchUpgradeReport(file, quiet=quiet)
    for each in found:
        if isinstance(each, Problem):
            report.problem(each)
        else:
            report.add(each)
