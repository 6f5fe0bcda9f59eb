"""Tests of job outcomes, including errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from trtlint.case import Case
from trtlint.dry_build.errors import WheelError
from trtlint.engine.finding import ModelReport
from trtlint.engine.ruleset import OtherRulesError, RuleSet
from trtlint.files.lfs import POINTER
from trtlint.files.limits import LimitError
from trtlint.files.problem import Problem
from trtlint.measurement.inputs import InputsError
from trtlint.remote.addresses import parse
from trtlint.runs import cache, worker
from trtlint.runs.exits import Exit
from trtlint.runs.job import Job, Outcome, Store
from trtlint.runs.worker import failed, finish, lint_job, lint_jobs, renamed
from trtlint.target.target import Target

TARGETS = (Target(version="10.7"), Target(version="10.8"))
WORDS = ("TensorRT 10.7", "TensorRT 10.8")


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """Return a case about a model without findings."""
    path = tmp_path / "m.onnx"
    path.touch()
    return Case(path, TARGETS, RuleSet([]))


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[ModelReport]:
    """Return the reports of each case."""
    found = [ModelReport("inside.onnx", words) for words in WORDS]
    monkeypatch.setattr(Case, "evaluated", lambda _: tuple(found))
    return found


def error(message: str, code: Exit) -> Outcome:
    """Return the outcome of a job with an error."""
    errors = (Problem("name", message),)
    return Outcome(tuple(ModelReport("name", words, errors=errors) for words in WORDS), code)


def good(**more: Any) -> Outcome:
    """Return the outcome of a job without an error."""
    return Outcome(tuple(ModelReport("name", words, **more) for words in WORDS))


def test_a_job_that_is_refused(case: Case) -> None:
    assert lint_job(Job(case, "name", refused="bad settings")) == error("bad settings", Exit.USAGE)
    assert failed(Job(case, "name"), "no", Exit.BUG) == error("no", Exit.BUG)


@pytest.mark.usefixtures("reports")
def test_reports_have_the_name_of_the_user(case: Case) -> None:
    assert lint_jobs([Job(case, "name"), Job(case, "name", refused="x")]) == [
        good(), error("x", Exit.USAGE),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("raised", "message", "code"),
    [
        (LimitError("too long"), "too long", Exit.UNREADABLE),
        (MemoryError(), "not enough memory to lint this file", Exit.UNREADABLE),
        (InputsError("no inputs"), "no inputs", Exit.USAGE),
        (OtherRulesError("other rules"), "other rules", Exit.USAGE),
        (WheelError("no wheels"), "no wheels", Exit.USAGE),
        (KeyError("x"), "a bug", Exit.BUG),
    ],
)
def test_errors_of_a_job(
    raised: Exception, message: str, code: Exit, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluated(_: Case) -> tuple[ModelReport, ...]:
        raise raised

    monkeypatch.setattr(Case, "evaluated", evaluated)
    monkeypatch.setattr(worker, "describe", lambda found: "a bug" if found is raised else "")
    assert lint_job(Job(case, "name")) == error(message, code)


@pytest.mark.usefixtures("reports")
def test_a_pointer_of_git_lfs(case: Case) -> None:
    case.path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert lint_job(Job(case, "name")) == good(notes=(f"skipped: {POINTER}",), skipped=True)
    assert lint_job(Job(case, "name", require_lfs=True)) == error(POINTER, Exit.UNREADABLE)
    remote = replace(case, source=parse("hf://owner/name/m.onnx"))
    assert lint_job(Job(remote, "name")) == good()


@pytest.mark.usefixtures("reports")
def test_reports_are_stored(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(cache, "keep", lambda *given: calls.append(given))
    store = Store(Path("entry"), (1,))
    assert lint_job(Job(case, "name", store=store)) == good()
    assert calls == [(store, case.path, tuple(ModelReport("inside.onnx", words) for words in WORDS))]


def test_reports_with_a_revision(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "revision", lambda given: "r1" if given is case else "")
    reports = [ModelReport("name", words) for words in WORDS]
    assert finish(Job(case, "name", revised=True), reports) == good(revision="r1")
    assert finish(Job(case, "name"), reports) == good()


def test_external_data_that_was_not_fetched(case: Case) -> None:
    folder = case.path.parent
    (folder / "a.data").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    (folder / "b.data").touch()
    report = ModelReport("m", "T", data_files=("a.data", "b.data", "c.data"), errors=(Problem("m", "old"),))
    named = renamed(report, "name")
    assert finish(Job(case, "name"), [report]) == Outcome((named,), Exit.UNREADABLE)
    more = Problem("name", f"the external data file 'a.data' is {POINTER}")
    assert finish(Job(case, "name", require_lfs=True), [report]) == Outcome(
        (replace(named, errors=(Problem("name", "old"), more)),), Exit.UNREADABLE
    )
    whole = ModelReport("name", "T", data_files=("b.data",))
    assert finish(Job(case, "name", require_lfs=True), [whole]) == Outcome((whole,), Exit.CLEAN)


def test_one_report_with_an_error_decides_the_exit_code(case: Case) -> None:
    bad = ModelReport("name", "B", errors=(Problem("name", "x"),))
    found = finish(Job(case, "name"), [ModelReport("name", "A"), bad])
    assert found.exit == Exit.UNREADABLE


def test_a_report_with_its_name_is_unchanged() -> None:
    report = ModelReport("m", "T", errors=(Problem("other", "x"),))
    assert renamed(report, "m") is report
    assert renamed(report, "n") == ModelReport("n", "T", errors=(Problem("n", "x"),))
