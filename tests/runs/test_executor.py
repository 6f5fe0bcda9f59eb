"""Tests of many files in processes and on a cluster, with crashes and a progress bar."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from tests import crashing
from tests.runs.clusters import local_cluster
from tests.workspace import Workspace
from trtlint.case import Case
from trtlint.engine.rulebook import load_rules
from trtlint.engine.ruleset import RuleSet
from trtlint.runs import pools
from trtlint.runs.exits import Exit
from trtlint.runs.fleet import JobRunner
from trtlint.runs.job import Job, Outcome
from trtlint.runs.pools import Pool
from trtlint.target.target import Target

REPOSITORY = Path(__file__).resolve().parents[2]
MODELS = REPOSITORY / "tests" / "data" / "models"
HOUSE = ["--rules", "house", "--select", "XYZ"]


@pytest.mark.slow
def test_processes_find_what_one_finds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from trtlint.cli import run

    monkeypatch.chdir(MODELS.parent)
    arguments = ["models", "missing.onnx", "--trt", "10.6..10.8", "--gpu", "L4", "--isolated", "--no-cache"]
    outputs = []
    for workers in ("1", "2"):
        assert run([*arguments, "--format", "json", "--jobs", workers]) == 3
        outputs.append(capsys.readouterr())
    assert outputs[0] == outputs[1]
    paths = dict.fromkeys(model["path"] for model in json.loads(outputs[0].out)["models"])
    assert list(paths) == [*sorted(f"models/{file.name}" for file in MODELS.glob("*.onnx")), "missing.onnx"]


@pytest.mark.slow
def test_processes_fill_the_cache(work: Workspace, cache_folder: Path) -> None:
    for number in range(4):
        work.copy("models/a.onnx", f"models/c{number}.onnx")
    first = work.report("models", *HOUSE, "-j", "2")
    assert len(first["models"]) == 6
    assert len(list(cache_folder.glob("*/*.json"))) == 2
    assert work.report("models", *HOUSE, "-j", "0") == first


def jobs(work: Workspace, *names: str) -> list[tuple[Job, None]]:
    rules = RuleSet(load_rules([work.path / "house"]).entries).stamp()
    targets = (Target(version="10.7"), Target(version="10.8"))
    found = []
    for name in names:
        work.copy("models/a.onnx", f"{name}.onnx")
        found.append((Job(Case(work.path / f"{name}.onnx", targets, rules), f"{name}.onnx"), None))
    return found


def message(outcome: Outcome) -> str:
    (text,) = {str(problem) for report in outcome.reports for problem in report.errors}
    return text


@pytest.mark.slow
def test_no_file_hides_the_findings_of_another(work: Workspace) -> None:
    names = ["slow", "one", "killed", "two", "bug", "three", "memory", "four", "five", "six"]
    found = dict(zip(names, JobRunner(crashing.pools, 2).outcomes(jobs(work, *names)), strict=True))
    for name, outcome in found.items():
        assert [report.path for report in outcome.reports] == [f"{name}.onnx"] * 2
        assert [report.target for report in outcome.reports] == ["TensorRT 10.7", "TensorRT 10.8"]
    fatal = {"killed", "bug", "memory"}
    assert all(len(found[name].reports[1].findings) == 2 for name in names if name not in fatal)
    assert {name: found[name].exit for name in names if found[name].exit} == {
        "killed": Exit.UNREADABLE,
        "bug": Exit.BUG,
        "memory": Exit.UNREADABLE,
    }
    assert "process that linted this file ended" in message(found["killed"])
    assert "a bug in trtlint: ZeroDivisionError: of mine" in message(found["bug"])
    assert "not enough memory" in message(found["memory"])


def test_other_rules_are_not_used(work: Workspace) -> None:
    (entry,) = jobs(work, "one")
    file = work.path / "house" / "XYZ901-house-relu.md"
    file.write_text(file.read_text().replace("is here", "was here"))
    (outcome,) = JobRunner(pools.processes, 2).outcomes([entry])
    assert outcome.exit == Exit.USAGE
    assert "rule files changed" in message(outcome)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_it(work: Workspace) -> None:
    for number in range(30):
        work.copy("models/a.onnx", f"models/c{number}.onnx")
    command = [sys.executable, "-m", "trtlint", "models", "-j", "2", "--no-cache", *HOUSE]
    run = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert run.stdout is not None
    run.stdout.readline()
    os.killpg(run.pid, signal.SIGINT)
    run.communicate(timeout=120)
    assert run.returncode in (130, 1)  # it may have been done


def test_an_interrupt_does_not_wait_for_the_workers(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt can arrive while this thread holds a future's lock that the executor needs."""
    monkeypatch.setattr("trtlint.runs.fleet._LOOK_EVERY", 0.05)
    started: list[BaseProcess] = []

    @contextmanager
    def interrupted(most: int) -> Iterator[Pool]:
        with pools.processes(most) as pool:
            assert isinstance(pool.executor, ProcessPoolExecutor)
            pool.executor.submit(time.sleep, 600)
            started.extend(pool.executor._processes.values())
            yield replace(pool, has_workers=interrupt)

    def interrupt() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(JobRunner(interrupted, 1).outcomes(jobs(work, "one", "two")))
    (worker,) = started
    assert worker.is_alive()
    worker.kill()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a one-process Dask cluster with another current folder."""
    patch = pytest.MonkeyPatch()
    patch.chdir(tmp_path_factory.mktemp("cluster"))
    patch.setenv("PYTHONPATH", str(REPOSITORY))
    with local_cluster(n_workers=1, threads_per_worker=2) as started:
        yield started.scheduler_address.replace("tcp://", pools.SCHEME)
    patch.undo()


@pytest.mark.slow
def test_a_dask_cluster_finds_what_one_finds(cluster: str, work: Workspace, cache_folder: Path) -> None:
    (work.path / "models" / "broken.onnx").write_bytes(b"\x00")
    arguments = ["models", *HOUSE, "--format", "json"]
    assert work.run(*arguments, "--no-cache") == 3
    here = work.capsys.readouterr().out
    for _ in range(2):
        assert work.run(*arguments, "--executor", cluster) == 3
        assert work.capsys.readouterr().out == here
    assert len(list(cache_folder.glob("*/*.json"))) == 2
    assert [finding["rule"] for finding in json.loads(here)["models"][0]["findings"]] == ["XYZ901", "XYZ902"]


@pytest.mark.parametrize("batch", [1, 3, 4, 100])
def test_jobs_are_sent_in_batches(work: Workspace, batch: int) -> None:
    names = [f"m{number}" for number in range(10)]
    sizes: list[int] = []

    class Executor(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Any:
            sizes.append(len(arguments[0]))
            return super().submit(function, *arguments, **named)

    @contextmanager
    def threads(_: int) -> Iterator[Pool]:
        with Executor(2) as executor:
            yield Pool(executor, 2)

    found = list(JobRunner(threads, batch=batch).outcomes(jobs(work, *names)))
    assert [outcome.reports[0].path for outcome in found] == [f"{name}.onnx" for name in names]
    assert sum(sizes) == 10
    assert max(sizes) == min(batch, 10)
    assert len(sizes) == -(-10 // batch)


@pytest.mark.slow
def test_a_killed_worker_of_a_cluster_costs_its_batch_alone(
    work: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    names = [*(f"a{number}" for number in range(4)), "b0", "killed", "b2", "b3", *(f"c{n}" for n in range(4))]
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_cluster(n_workers=2, dashboard_address=":0") as started,
    ):
        with distributed.Client(started) as client:
            client.run(crashing.begin)
        address = started.scheduler_address.replace("tcp://", pools.SCHEME)
        runner = JobRunner(pools.dask(address), remote=True, batch=4)
        found = dict(zip(names, runner.outcomes(jobs(work, *names)), strict=True))
    lost = {name for name, outcome in found.items() if outcome.exit}
    assert lost == {"b0", "killed", "b2", "b3"}
    assert "KilledWorker" in message(found["b0"])
    assert "linted 4 files together" in message(found["b0"])
    assert all(len(found[name].reports[1].findings) == 2 for name in names if name not in lost)


@pytest.mark.parametrize(
    ("versions", "reason"),
    [
        ({}, "no workers"),
        ({"tcp://w:1": "0.0.1"}, "the worker tcp://w:1 has trtlint 0.0.1, not"),
        (
            {"tcp://w:1": ModuleNotFoundError("No module named 'trtlint'")},
            "cannot import trtlint (No module",
        ),
    ],
)
def test_clusters_that_would_find_something_else(
    versions: dict[str, object],
    reason: str,
    work: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Client:
        def __init__(self, address: str, timeout: float) -> None:
            assert (address, timeout > 0) == ("tcp://host:8786", True)

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None: ...

        def run(self, function: Any, on_error: str) -> dict[str, object]:
            return versions

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    assert work.run("models", "--executor", "dask://host:8786") == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_executors_that_cannot_be_used(
    work: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert work.run("models", "--executor", "spark://host:1") == 2
    assert "dask://HOST:PORT" in capsys.readouterr().err
    monkeypatch.setattr(pools, "_SECONDS_TO_CONNECT", 1)
    assert work.run("models", "--executor", "dask://127.0.0.1:1") == 2
    assert "dask://127.0.0.1:1 cannot be reached" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert work.run("models", "--executor", "dask://host:1") == 2
    assert 'pip install "distributed>=' in capsys.readouterr().err


def test_a_system_without_a_temporary_folder(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr("tempfile.TemporaryDirectory", refuse)
    expected = work.run("models", "--no-cache")
    assert work.run("models", "-j", "2", "--no-cache") == expected


def test_a_system_without_pools(
    work: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no semaphores")

    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", refuse)
    assert work.run("models", "-j", "2") == 2
    assert "no semaphores; use -j 1" in capsys.readouterr().err
