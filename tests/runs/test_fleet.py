"""Tests of the number of concurrent jobs, and of the resources of a job."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from trtlint.case import Case
from trtlint.cli import run
from trtlint.commands.streams import notify
from trtlint.engine.ruleset import RuleSet
from trtlint.errors import SettingError
from trtlint.policy.config import shown
from trtlint.policy.options import LintOptions, TargetOptions
from trtlint.policy.review import Policy
from trtlint.process.spawn import Limits
from trtlint.runs import fleet, pools
from trtlint.runs.dryjob import DryJob
from trtlint.runs.fleet import _batch, _fitting, _jobs, _RunCache, _runner, outcomes
from trtlint.runs.job import Job

OPTIONS = LintOptions((), TargetOptions(), cache=False)
DRY = DryJob("1.7.1", None, "build", (), Limits(memory=4 << 30))


def task(name: str = "m.onnx", *evidence: Any, build: bool = False, problem: str = "") -> Any:
    """Return a task for a model."""
    case = Case(Path(name), (), RuleSet([]), Policy(min_confidence="high"), evidence=evidence)
    return SimpleNamespace(case=case, file=Path(name), name=f"named {name}", has_build=build, problem=problem)


@pytest.mark.parametrize(
    ("count", "size"),
    [(0, 1), (1, 1), (79, 1), (80, 2), (1999, 49), (2000, 50), (2040, 50), (100_000, 50)],
)
def test_jobs_of_a_batch(count: int, size: int) -> None:
    assert _batch(count) == size


@pytest.fixture
def runners(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record the created runners on a fake machine with four processors."""
    found: list[Any] = []
    monkeypatch.setattr(fleet, "JobRunner", lambda *given, **words: found.append((given, words)))
    monkeypatch.setattr(pools, "cores", lambda: 4)
    monkeypatch.setattr(pools, "dask", lambda address: f"cluster {address}")
    return found


@pytest.mark.parametrize(
    ("jobs", "count", "workers"),
    [(1, 9, None), (2, 9, 2), (0, 9, 4), (0, 3, 3), (0, 1, None), (8, 9, 8), (8, 2, 2), (2, 0, None)],
)
def test_the_number_of_workers(jobs: int, count: int, workers: int | None, runners: list[Any]) -> None:
    _runner(replace(OPTIONS, jobs=jobs), [task()] * count)
    assert runners == [((), {}) if workers is None else ((pools.processes, workers), {})]


def test_the_batches_of_a_cluster(runners: list[Any]) -> None:
    _runner(replace(OPTIONS, executor="dask://host:1"), [task()] * 80)
    assert runners == [(("cluster dask://host:1",), {"remote": True, "batch": 2})]
    with pytest.raises(SettingError) as error:
        _runner(replace(OPTIONS, executor="host:1"), [])
    assert str(error.value) == "--executor 'host:1': write it as dask://HOST:PORT"


@pytest.mark.parametrize(
    ("available", "workers"), [(1, 1), (3 << 30, 1), (6 << 30, 2), (9 << 30, 3), ((9 << 30) - 1, 2)]
)
def test_dry_builds_that_fit_into_memory(
    available: int, workers: int, monkeypatch: pytest.MonkeyPatch, runners: list[Any]
) -> None:
    """The largest dry build counts, up to its memory limit."""
    sizes = {"small.onnx": 1 << 30, "large.onnx": 3 << 30}
    monkeypatch.setattr(
        "trtlint.dry_build.drybuild.roughly_needed", lambda file, level: sizes[file.name] if level else 0
    )
    monkeypatch.setattr("trtlint.runs.dry.available_memory", lambda: available)
    tasks = [task("small.onnx", DRY), task("large.onnx", DRY), task("m.onnx")]
    assert _fitting(tasks) == workers
    limited = replace(DRY, limits=Limits(memory=3 << 29))
    assert _fitting([task("large.onnx", limited)]) == max(1, available // (3 << 29))
    assert _fitting([task()] * 7) == 7
    _runner(replace(OPTIONS, jobs=3), tasks)
    assert runners == [((), {}) if workers == 1 else ((pools.processes, min(3, workers)), {})]


@pytest.mark.parametrize(
    ("words", "revised"),
    [
        ([], False),
        (["--format", "text"], False),
        (["--format", "parquet"], True),
        (["--output", "json", "--output", "parquet:x.parquet"], True),
        (["--output", "text:x"], False),
    ],
)
def test_jobs_with_a_revision(words: list[str], revised: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[LintOptions] = []
    monkeypatch.setattr("trtlint.commands.lint.run_lint", lambda options, _: given.append(options))
    run(["lint", "a.onnx", *words])
    ((job, _),) = _jobs([task()], given[0], _RunCache(OPTIONS, notify))
    assert job.revised is revised


def test_a_job_has_its_case_without_a_policy(tmp_path: Path) -> None:
    options = replace(OPTIONS, cache=True, cache_dir=str(tmp_path / "cache"), require_lfs=True)
    kept = _RunCache(options, notify)
    tasks = [task("a.onnx"), task("b.onnx", DRY), task("c", build=True), task("d.onnx", problem="bad")]
    found = _jobs(tasks, options, kept)
    cases = [replace(each.case, policy=Policy()) for each in tasks]
    cases[1] = replace(cases[1], evidence=(replace(DRY, kept=tmp_path / "cache"),))
    assert [job for job, _ in found] == [
        Job(case, each.name, require_lfs=True, refused=each.problem)
        for case, each in zip(cases, tasks, strict=True)
    ]
    # Only models without evidence use the cache.
    assert [cache is None for _, cache in found] == [False, True, True, True]


def test_the_folder_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "folder", lambda: tmp_path / "default")
    (tmp_path / "link").symlink_to("real")
    options = replace(OPTIONS, cache=True)
    assert _RunCache(options, notify).folder == tmp_path / "default"
    assert _RunCache(replace(options, cache_dir=str(tmp_path / "link")), notify).folder == tmp_path / "real"
    assert _RunCache(replace(OPTIONS, cache_dir="x"), notify).folder is None
    assert _RunCache(OPTIONS, notify).cache is None
    with pytest.raises(SettingError) as error:
        _RunCache(replace(OPTIONS, cache_dir=""), notify)
    assert str(error.value) == "--cache-dir is empty; name a folder"


def test_a_folder_that_is_no_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").touch()
    kept = _RunCache(replace(OPTIONS, cache=True, cache_dir=str(tmp_path)), notify)
    assert kept.cache is None
    assert kept.cache is None
    words = f"trtlint: warning: {shown(tmp_path)}: not a trtlint cache; caching is off\n"
    assert capsys.readouterr().err == words


@pytest.mark.parametrize("with_pool", [False, True])
def test_rules_that_go_to_other_processes_are_stamped(
    with_pool: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamped: list[str] = []
    monkeypatch.setattr(RuleSet, "stamp", lambda rules: stamped.append("stamp"))
    runner = SimpleNamespace(pools=with_pool or None, outcomes=lambda jobs: iter(["outcome"] * len(jobs)))
    monkeypatch.setattr(fleet, "_runner", lambda options, tasks: runner)
    assert list(outcomes([task(), task()], OPTIONS, notify)) == cast("Any", ["outcome", "outcome"])
    assert stamped == ["stamp"] * (2 if with_pool else 0)


def test_builds_are_read_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def runner(*given: Any, **words: Any) -> Any:
        made.append((given, words))
        return SimpleNamespace(pools=None, outcomes=lambda jobs: iter(()))

    monkeypatch.setattr(fleet, "JobRunner", runner)
    assert list(outcomes([task(), task(build=True), task()], replace(OPTIONS, jobs=2), notify)) == []
    assert made == [((), {})]


def test_an_executor_that_cannot_be_used_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Any) -> Any:
        raise SettingError("no cluster")

    runner = SimpleNamespace(pools=None, outcomes=fail)
    monkeypatch.setattr(fleet, "_runner", lambda options, tasks: runner)
    with pytest.raises(SettingError) as error:
        list(outcomes([task()], OPTIONS, notify))
    assert str(error.value) == "no cluster"


def test_old_entries_are_deleted_after_a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    swept: list[Path] = []

    class Cache:
        usable = True

        def __init__(self, folder: Path) -> None:
            self.folder = folder

        def sweep(self) -> None:
            """Record the folder."""
            swept.append(self.folder)

    monkeypatch.setattr(fleet, "Cache", Cache)
    monkeypatch.setattr(
        fleet, "_runner", lambda *_: SimpleNamespace(pools=None, outcomes=lambda jobs: iter(()))
    )
    list(outcomes([task()], OPTIONS, notify))
    assert swept == []
    list(outcomes([task()], replace(OPTIONS, cache=True, cache_dir=str(tmp_path)), notify))
    assert swept == [tmp_path]
