"""Tests of cached results: hits, misses and damaged entries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from tests.files.special import needs_posix
from tests.workspace import Workspace
from trtlint.case import Case
from trtlint.engine.finding import Finding, ModelReport
from trtlint.files.problem import Problem
from trtlint.model.source import Frame, Source
from trtlint.runs import cache, cachefolder
from trtlint.runs.job import Store

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def linted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of the files that are linted without the cache."""
    names: list[str] = []
    evaluated = Case.evaluated

    def spy(case: Case) -> tuple[ModelReport, ...]:
        names.append(case.path.name)
        return evaluated(case)

    monkeypatch.setattr(Case, "evaluated", spy)
    return names


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.json"))


def test_a_second_run_lints_nothing_and_says_the_same(work: Workspace, linted: list[str]) -> None:
    first = work.report("models")
    assert linted == ["a.onnx", "b.onnx"]
    assert work.report("models") == first
    assert linted == ["a.onnx", "b.onnx"]
    assert [finding["rule"] for finding in first["models"][0]["findings"]] == ["XYZ901", "XYZ902"]


@pytest.mark.slow
def test_what_is_known_needs_neither_onnx_nor_numpy(work: Workspace) -> None:
    command = (
        "import sys; from trtlint.cli import run; code = run(['models/a.onnx', '--cache-dir', 'kept']); "
        "print(code, sorted({'onnx', 'numpy', 'yaml', 'networkx'} & set(sys.modules)), file=sys.stderr)"
    )
    seen = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", command], cwd=work.path, capture_output=True, text=True, check=True
        )
        seen.append(done.stderr.strip())
    assert seen[1] == f"{seen[0].split()[0]} []"
    assert "onnx" in seen[0]


def test_a_copy_is_known_by_its_content_and_reported_under_its_own_name(
    work: Workspace, linted: list[str]
) -> None:
    work.run("models/a.onnx")
    work.copy("models/a.onnx", "elsewhere/c.onnx")
    assert work.model("elsewhere/c.onnx")["path"] == "elsewhere/c.onnx"
    assert linted == ["a.onnx"]


def change_model(work: Workspace) -> None:
    work.save("models/a.onnx", [("Relu", "blocks.0")])


def change_rule(work: Workspace) -> None:
    file = work.path / "house" / "XYZ901-house-relu.md"
    file.write_text(file.read_text().replace("is here", "was here"))


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (change_model, []),
        (change_rule, []),
        (lambda _: None, ["--trt", "10.8"]),
        (lambda _: None, ["--trt", "10.7", "--fp16"]),
        (lambda _: None, ["--trt", "10.7", "--gpu", "L4"]),
        (lambda _: None, ["--trt", "10.7", "--build", "trtexec --onnx=a.onnx --fp16"]),
        (lambda _: None, ["--trt", "10.7", "--select", "XYZ901"]),
    ],
    ids=["model", "rule", "version", "flag", "gpu", "command", "rules"],
)
def test_what_a_result_depends_on(
    change: Callable[[Workspace], None], options: list[str], work: Workspace, linted: list[str]
) -> None:
    work.run("models/a.onnx", "--trt", "10.7")
    work.run("models/a.onnx", "--trt", "10.7")
    assert linted == ["a.onnx"]
    change(work)
    work.run("models/a.onnx", *(options or ["--trt", "10.7"]))
    assert linted == ["a.onnx", "a.onnx"]


def test_what_is_decided_after_linting_is_not_kept(work: Workspace, linted: list[str]) -> None:
    assert work.run("models/a.onnx") == 1
    work.toml(
        "trtlint.toml",
        """
        [severity]
        XYZ901 = "note"
        [[suppress]]
        rule = "XYZ902"
        reason = "measured"
        """,
    )
    model = work.model("models/a.onnx")
    assert [(found["rule"], found["severity"]) for found in model["findings"]] == [("XYZ901", "note")]
    assert linted == ["a.onnx"]


def test_a_newer_trtlint_starts_anew(
    work: Workspace, linted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work.run("models/a.onnx")
    monkeypatch.setattr("trtlint.__version__", "99.0")
    cache.program.cache_clear()
    work.run("models/a.onnx")
    cache.program.cache_clear()
    assert linted == ["a.onnx", "a.onnx"]


def external(folder: Path, value: float) -> Path:
    """Return a model whose only weight is in an external file."""
    weight = onnx.numpy_helper.from_array(np.full((64, 64), value, np.float32), "w")
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"], name="/head/MatMul")
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 64]) for name in "xy"]
    graph = onnx.helper.make_graph([node], "g", ends[:1], ends[1:], [weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    folder.mkdir(exist_ok=True)
    file = folder / "e.onnx"
    onnx.save(model, file, save_as_external_data=True, location="e.onnx.data", size_threshold=0)
    return file


def test_external_data_are_watched(work: Workspace, linted: list[str]) -> None:
    file = external(work.path / "external", 1.0)
    for _ in range(2):
        work.run("external/e.onnx")
    assert linted == ["e.onnx"]
    data = file.with_name("e.onnx.data")
    before = data.read_bytes()
    data.write_bytes(np.full((64, 64), 2.0, np.float32).tobytes())
    work.run("external/e.onnx")
    assert linted == ["e.onnx"] * 2
    data.unlink()
    assert "missing" in work.model("external/e.onnx")["notes"][0]
    assert linted == ["e.onnx"] * 3
    data.write_bytes(before)
    assert work.model("external/e.onnx")["notes"] == []
    assert linted == ["e.onnx"] * 4


@needs_posix
def test_what_was_found_without_weights_does_not_count_with_them(work: Workspace, linted: list[str]) -> None:
    """A link out of the folder is not followed, even with equal contents."""
    data = external(work.path / "stranger", 1.0).with_name("e.onnx.data")
    external(work.path / "mine", 1.0)
    data.rename(work.path / "elsewhere")
    for _ in range(2):
        assert "missing" in work.model("stranger/e.onnx")["notes"][0]
    data.symlink_to("../elsewhere")
    for _ in range(2):
        assert "outside" in work.model("stranger/e.onnx")["notes"][0]
    assert linted == ["e.onnx"] * 2
    assert work.model("mine/e.onnx")["notes"] == []
    assert linted == ["e.onnx"] * 3


def test_large_files_are_not_read_but_known_by_their_status(
    work: Workspace, linted: list[str], monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    monkeypatch.setattr(cache, "LARGE", 16)
    monkeypatch.setattr(cache, "_UNSETTLED", 3600 * 1_000_000_000)
    work.run("models/a.onnx")
    assert entries(cache_folder) == []  # too fresh: it could change again within the same tick of the clock
    monkeypatch.setattr(cache, "_UNSETTLED", -1)
    work.run("models/a.onnx")
    work.run("models/a.onnx")
    assert linted == ["a.onnx"] * 2
    os.utime(work.path / "models" / "a.onnx", (1, 1))
    work.run("models/a.onnx")
    work.copy("models/a.onnx", "c.onnx")
    work.run("c.onnx")
    assert linted == ["a.onnx"] * 3 + ["c.onnx"]


def test_a_model_that_changes_meanwhile_is_not_kept(
    work: Workspace, monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    evaluated = Case.evaluated

    def late(case: Case) -> tuple[ModelReport, ...]:
        reports = evaluated(case)
        change_model(work)
        return reports

    monkeypatch.setattr(Case, "evaluated", late)
    work.run("models/a.onnx")
    assert entries(cache_folder) == []


def test_files_that_cannot_be_linted_are_tried_again(
    work: Workspace, linted: list[str], cache_folder: Path
) -> None:
    (work.path / "broken.onnx").write_bytes(b"\x08\x08")
    for _ in range(2):
        assert work.run("broken.onnx") == 3
    assert linted == ["broken.onnx"] * 2
    assert entries(cache_folder) == []


def test_an_error_for_one_target_keeps_nothing(work: Workspace, cache_folder: Path) -> None:
    model = work.path / "models" / "a.onnx"
    whole = ModelReport("", "TensorRT 10.7")
    failed = ModelReport("", "TensorRT 10.8", errors=(Problem("a.onnx", "broken"),))
    store = Store(cache_folder / "00" / "entry.json", cache.stamp(model))
    for reports in ([whole, failed], [failed, whole]):
        cache.keep(store, model, reports)
        assert cache.read(store.entry) is None
    cache.keep(store, model, [whole, whole])
    assert cache.read(store.entry) is not None


def truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    return data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]


def forged(data: bytes) -> bytes:
    """Return a complete entry with a valid checksum and other contents."""
    other = json.dumps({"companions": {}, "reports": [{"path": "", "target": 7}]}).encode()
    return cache.digest(other).encode() + b"\n" + other


@pytest.mark.parametrize("damage", [truncated, flipped, forged, lambda _: b"", lambda _: b"\n\x80\x04K\x01."])
def test_damage_is_repaired(
    damage: Callable[[bytes], bytes], work: Workspace, linted: list[str], cache_folder: Path
) -> None:
    first = work.report("models/a.onnx")
    (entry,) = entries(cache_folder)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert work.report("models/a.onnx") == first
    assert linted == ["a.onnx"] * 2
    assert entry.read_bytes() == whole


def test_a_folder_that_cannot_be_used_only_costs_time(
    work: Workspace, linted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (work.path / "file").write_text("no folder")
    for _ in range(2):
        assert work.run("models/a.onnx", "--cache-dir", "file") == 1
    assert linted == ["a.onnx"] * 2
    assert (work.path / "file").read_text() == "no folder"


def test_options(work: Workspace, linted: list[str], cache_folder: Path) -> None:
    work.run("models/a.onnx", "--no-cache")
    assert not cache_folder.exists()
    for _ in range(2):
        work.run("models/a.onnx", "--cache-dir", "mine")
    assert linted == ["a.onnx"] * 2
    assert not cache_folder.exists()
    assert (work.path / "mine" / ".gitignore").read_text() == "*\n"
    assert (work.path / "mine" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d17278")


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRTLINT_CACHE_DIR")
    if os.name != "nt":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert cache.folder() == tmp_path / "xdg" / "trtlint"
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        for relative in ("relative", ""):
            monkeypatch.setenv("XDG_CACHE_HOME", relative)
            assert cache.folder() == tmp_path / "home" / ".cache" / "trtlint"
    monkeypatch.setenv("TRTLINT_CACHE_DIR", str(tmp_path / "named"))
    assert cache.folder() == tmp_path / "named"


@pytest.mark.skipif(os.name == "nt", reason="users of POSIX")
def test_where_nobody_is_at_home_nothing_is_kept(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container can run as a user that it does not know."""
    import pwd

    def unknown(number: int) -> None:
        raise KeyError(number)

    for name in ("HOME", "XDG_CACHE_HOME", "TRTLINT_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert cache.folder() is None
    before = set(work.path.rglob("*"))
    assert work.run("models/a.onnx") == 1
    assert set(work.path.rglob("*")) == before


def test_it_does_not_grow_for_ever(
    work: Workspace, monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    work.run("models")
    old, new = entries(cache_folder)
    long_ago = time.time() - 31 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    cache.Cache(cache_folder).sweep()
    assert entries(cache_folder) == [old, new]  # looked through a moment ago
    os.utime(cache_folder / "CACHEDIR.TAG", (long_ago, long_ago))
    cache.Cache(cache_folder).sweep()
    assert entries(cache_folder) == [new]
    os.utime(cache_folder / "CACHEDIR.TAG", (long_ago, long_ago))
    monkeypatch.setattr(cache, "_MOST_BYTES", 10)
    cache.Cache(cache_folder).sweep()
    assert entries(cache_folder) == []


@pytest.mark.parametrize(("most", "kept"), [(8, "abc"), (7, "bc"), (5, "bc"), (4, "c"), (3, "c"), (2, "")])
def test_the_entries_used_last_stay(
    most: int, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    now = int(time.time())
    files = {}
    for age, (name, size) in enumerate((("c", 3), ("b", 2), ("a", 3))):
        files[name] = cachefolder.entry_in(folder, name * 40)
        cachefolder.write_entry(files[name], bytes(size))
        os.utime(files[name], (now - age, now - age))
    os.utime(folder / cachefolder.TAG, (0, 0))
    monkeypatch.setattr(cache, "_MOST_BYTES", most)
    cache.Cache(folder).sweep()
    assert [name for name in "abc" if files[name].exists()] == list(kept)


def test_what_is_used_stays(work: Workspace, cache_folder: Path) -> None:
    work.run("models/a.onnx")
    (entry,) = entries(cache_folder)
    long_ago = time.time() - 29 * 24 * 3600
    os.utime(entry, (long_ago, long_ago))
    work.run("models/a.onnx")
    assert time.time() - entry.stat().st_mtime < 3600


@pytest.mark.slow
def test_runs_at_the_same_time_agree(tmp_path: Path) -> None:
    models = REPOSITORY / "tests" / "data" / "models"
    command = [sys.executable, "-m", "trtlint", str(models), "--trt", "10.7", "--format", "json"]
    command += ["--cache-dir", str(tmp_path / "one"), "--isolated"]
    runs = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=REPOSITORY)
        for _ in range(2)
    ]
    outputs = [run.communicate() for run in runs]
    assert [error for _, error in outputs] == [b"", b""]
    assert outputs[0][0] == outputs[1][0]
    assert len(entries(tmp_path / "one")) == len(list(models.glob("*.onnx")))
    assert not list(tmp_path.glob("one/*/.*.tmp"))
    again = subprocess.run(command, capture_output=True, cwd=REPOSITORY, check=False)
    assert again.stdout == outputs[0][0]


def of_fields(cls: type) -> st.SearchStrategy[Any]:
    """Generate structs of a class with values of the annotated types."""
    hints = get_type_hints(cls)
    return st.builds(cls, **{name: values(hints[name]) for name in cls.__struct_fields__})  # type: ignore[attr-defined]


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Generate values of an annotated type. Tuples have at most one item, because reports nest seven deep."""
    if hint is Finding:
        return st.deferred(lambda: FINDINGS)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return of_fields(hint)
    items = get_args(hint)
    if get_origin(hint) is tuple:
        if len(items) == 2 and items[1] is ...:
            return st.just(()) if items[0] is Finding else st.lists(values(items[0]), max_size=1).map(tuple)
        return st.tuples(*map(values, items))
    if get_origin(hint) in (Union, UnionType):
        return st.one_of(*map(values, items))
    # JSON has no other numbers, and a name in a model is Unicode.
    special = {float: st.floats(allow_nan=False, allow_infinity=False), str: st.text(max_size=4)}
    return special[hint] if hint in special else st.from_type(hint)


FINDINGS = of_fields(Finding)


@given(of_fields(ModelReport), st.lists(FINDINGS, max_size=2).map(tuple))
@settings(max_examples=20, deadline=None)
def test_a_report_comes_back_as_it_was(report: ModelReport, findings: tuple[Finding, ...]) -> None:
    report = replace(report, findings=findings)
    assert msgspec.json.decode(msgspec.json.encode(report), type=ModelReport) == report


def test_frames_of_a_source_come_back_although_they_do_not_count_for_equality() -> None:
    source = Source("a.py", 3, frames=(Frame("/home/u/a.py", 3, "f", "x = 1"),))
    found = msgspec.json.decode(msgspec.json.encode(source), type=Source)
    assert found == replace(source, frames=())
    assert hash(found) == hash(replace(source, frames=()))
    assert found.frames == source.frames


def test_a_name_that_is_not_unicode_is_not_kept(tmp_path: Path) -> None:
    model = tmp_path / "a.onnx"
    model.write_bytes(b"")
    store = Store(tmp_path / "kept" / "aa" / "bb.json", ())
    cache.keep(store, model, [ModelReport("a.onnx", "", notes=("\udc80",))])
    assert not store.entry.exists()
