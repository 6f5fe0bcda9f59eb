"""Shared pytest fixtures."""

from __future__ import annotations

import gc
import importlib.metadata
import os
import re
from collections.abc import Callable, Iterator
from email.message import Message
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import inplace
from tests.signals import catch_ignored
from tests.workspace import Workspace
from trtlint.engine import rulebook
from trtlint.files.telemetry import switch_off
from trtlint.knowledge import redirects as known
from trtlint.knowledge.projecturls import project_url

# The time of an example depends on the load of the machine, and its draw on chance. A test that
# passes today must pass tomorrow; `make fuzz` searches for new failures.
settings.register_profile(
    "same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")

# Test modules import ONNX Runtime as they are collected.
switch_off()

REPOSITORY = Path(__file__).resolve().parent.parent


_folders = count()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Exclude the test modules and their imports from garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def usual_signals() -> None:
    """Catch ignored signals, so that child processes do not inherit them as ignored."""
    catch_ignored()


@pytest.fixture(autouse=True, scope="session")
def in_place() -> Iterator[None]:
    """Run native libraries in the test process.

    A fork of this large process takes several times as long as the child's work.  A fresh process spends
    more time on imports than on comparisons.  Tests with the mark ``isolated`` use separate processes, as
    users do.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, work in inplace.STAND_INS.items():
            patch.setattr(name, work)
        yield


@pytest.fixture(autouse=True)
def isolated_where_marked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run native libraries in separate processes in tests with the mark ``isolated``."""
    if request.node.get_closest_marker("isolated") is not None:
        for name, work in inplace.ISOLATED.items():
            monkeypatch.setattr(name, work)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty folder. pytest's own fixture lists all existing folders first."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(_folders)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test its own cache folder instead of the user's."""
    folder = tmp_path_factory.getbasetemp() / f"results-{next(_folders)}"
    monkeypatch.setenv("TRTLINT_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def redirected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Replace the table of renamed and removed rules."""

    def forget() -> None:
        for kept in (known.redirects_by_word, known._first_ids):
            kept.cache_clear()

    def put(*rows: known.Redirect) -> None:
        forget()
        monkeypatch.setattr(known, "redirects", lambda: rows)

    yield put
    forget()


@pytest.fixture
def project_urls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Replace the project URLs of the package, each written as ``LABEL, URL``."""

    def put(*entries: str) -> None:
        message = Message()
        for entry in entries:
            message["Project-URL"] = entry
        monkeypatch.setattr(importlib.metadata, "metadata", lambda _: message)
        project_url.cache_clear()

    yield put
    project_url.cache_clear()


@pytest.fixture(autouse=True)
def manual_address(monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the address of the manual, independent of the installed package metadata."""
    address = "https://manual.example.org/"
    monkeypatch.setattr("trtlint.report.manual.address", lambda: address)
    return address


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real models and logs, or skip the test if it does not exist."""
    folder = Path(os.environ.get("TRTLINT_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "data" / "exported").is_dir():
        pytest.skip(f"no real models at {folder}")
    return folder


@pytest.fixture(scope="session")
def exported(shared: Path) -> Path:
    """Return the folder of real exported models."""
    return shared / "data" / "exported"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Workspace:
    """Return the current folder, with two models and two rules in place of the built-in ones."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("trtlint.engine.rulebook.builtin_rules", lambda: folder / "house")
    monkeypatch.setattr("trtlint.engine.rulebook._builtin", rulebook._builtin.__wrapped__)  # they change
    space = Workspace(folder, capsys)
    space.rule("house", "XYZ901", "house-relu", op="Relu")
    space.rule("house", "XYZ902", "house-sin", op="Sin", severity="warning")
    space.save("models/a.onnx", [("Relu", "blocks.0"), ("Relu", "blocks.1"), ("Sin", "head")])
    space.save("models/b.onnx", [("Abs", "head")])
    return space
