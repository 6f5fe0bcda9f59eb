"""Shared pytest fixtures."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterator
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
    """Keep the collector from visiting the test modules and their imports again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def usual_signals() -> None:
    """Keeps children from ignoring what the shell made the tests ignore."""
    catch_ignored()


@pytest.fixture(autouse=True, scope="session")
def in_place() -> Iterator[None]:
    """Lets native libraries work in the process of the tests.

    To fork one as large as it is, and to copy the pages that both write to afterwards, takes several times
    as long as what the child does; a fresh one imports for longer than it compares models.  Tests that are
    marked ``isolated`` go the way that users go.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, work in inplace.STAND_INS.items():
            patch.setattr(name, work)
        yield


@pytest.fixture(autouse=True)
def isolated_where_marked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets native libraries work in processes of their own in tests of what these are for."""
    if request.node.get_closest_marker("isolated") is not None:
        for name, work in inplace.ISOLATED.items():
            monkeypatch.setattr(name, work)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test's own; pytest lists all folders made so far to name the next one."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / f"{name}{next(_folders)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for results of earlier runs: each test has its own, and none the user's."""
    folder = tmp_path_factory.getbasetemp() / f"results-{next(_folders)}"
    monkeypatch.setenv("TRTLINT_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def redirected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Puts rules that were renamed or removed in the place of the table of them."""

    def forget() -> None:
        for kept in (known._by_word, known._first_ids):
            kept.cache_clear()

    def put(*rows: known.Redirect) -> None:
        forget()
        monkeypatch.setattr(known, "redirects", lambda: rows)

    yield put
    forget()


@pytest.fixture(autouse=True)
def manual_address(monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the manual is, whatever the metadata of the package that is installed here say."""
    address = "https://manual.example.org/"
    monkeypatch.setattr("trtlint.report.manual.address", lambda: address)
    return address


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real models and logs; tests that need it skip on a machine without it."""
    folder = Path(os.environ.get("TRTLINT_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "data" / "exported").is_dir():
        pytest.skip(f"no real models at {folder}")
    return folder


@pytest.fixture(scope="session")
def exported(shared: Path) -> Path:
    """The folder of real exported models."""
    return shared / "data" / "exported"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Workspace:
    """A folder with two models, made the current one, and two rules in place of trtlint's own."""
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
