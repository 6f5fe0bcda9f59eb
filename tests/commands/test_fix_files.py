"""Tests of the files that ``trtlint fix`` writes or keeps."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import onnx
import pytest

import trtlint
from tests.schemas import load
from trtlint.cli import run
from trtlint.commands import fix as command
from trtlint.commands.fix import _sources
from trtlint.compare.comparison import available
from trtlint.dry_build import wheels
from trtlint.engine.finding import ModelReport
from trtlint.files import lfs
from trtlint.fixes import session, surgeon, verification
from trtlint.model import writer
from trtlint.model.writer import data_files_of

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "vit.onnx"
FIX = ("fix", "--trt", "10.7", "--isolated", "--select", "ACC102")


@pytest.mark.parametrize("output", ["-o", "--script", "--output"])
def test_external_data_of_a_removed_tensor_are_kept(
    output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save_model(
        onnx.load(EXAMPLE), path, save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0
    )
    assert run([*FIX, str(path)]) == 0
    before, after = (data_files_of(tmp_path / name) for name in ("model.onnx", "model.fixed.onnx"))
    (removed,) = set(before) - set(after)
    data = (tmp_path / removed).read_bytes()
    written = f"html:{tmp_path / removed}" if output == "--output" else str(tmp_path / removed)
    capsys.readouterr()
    assert run([*FIX, str(path), output, written]) != 0
    captured = capsys.readouterr()
    assert "is read in this run" in captured.out + captured.err
    assert (tmp_path / removed).read_bytes() == data


def test_a_report_does_not_replace_a_hard_link_of_the_fixed_model(tmp_path: Path) -> None:
    out, report = tmp_path / "fixed.onnx", tmp_path / "report.json"
    out.touch()
    report.hardlink_to(out)
    assert run([*FIX, str(EXAMPLE), "-o", str(out), "--output", f"json:{report}"]) != 0
    assert report.read_bytes() == b""


@pytest.mark.parametrize("option", ["--layers", "--profile"])
def test_an_unreadable_file_of_a_build_is_an_error_and_the_model_is_fixed(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, fixed = tmp_path / "cut.json", tmp_path / "fixed.onnx"
    broken.write_text('{"Layers": [', encoding="utf-8")
    assert run([*FIX, str(EXAMPLE), option, str(broken), "-o", str(fixed), "--format", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert [error["path"] for error in document["errors"]] == [str(broken)]
    assert fixed.exists()
    keyword: dict[str, Any] = {option[2:]: str(broken)}
    found = trtlint.fix(EXAMPLE, trt="10.7", select="ACC102", out=fixed, **keyword)
    assert found.model == fixed
    assert [[problem.path for problem in report.errors] for report in found.reports] == [[str(broken)]]


def test_external_data_of_a_model_that_is_not_written_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, link, weights = tmp_path / "model.onnx", tmp_path / "link.onnx", tmp_path / "w.bin"
    onnx.save_model(onnx.load(EXAMPLE), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    data = weights.read_bytes()
    link.symlink_to(tmp_path / "nowhere.onnx")
    assert run([*FIX, str(path), "-o", str(link), "--output", f"json:{weights}"]) != 0
    assert "is read in this run" in capsys.readouterr().err
    assert weights.read_bytes() == data


@pytest.mark.parametrize("option", ["--script", "--html"])
def test_two_files_in_one_place_are_refused(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fixed.onnx"
    other = tmp_path / "." / "fixed.onnx"
    assert run([*FIX, str(EXAMPLE), "-o", str(out), option, str(other)]) == 2
    assert (
        capsys.readouterr().err
        == f"trtlint: {out}: 2 outputs would be written to this file; use different output files\n"
    )
    assert not out.exists()


def test_several_models_are_written_to_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in ("a", "b"):
        (tmp_path / f"{name}.onnx").write_bytes(EXAMPLE.read_bytes())
    assert run([*FIX, str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx"), "-o", str(out)]) == 0
    assert sorted(file.name for file in out.iterdir()) == ["a.fixed.onnx", "b.fixed.onnx"]


def with_data(path: Path, location: str) -> bytes:
    """Write the example with external data. Return the data."""
    path.parent.mkdir(exist_ok=True)
    (path.parent / location).parent.mkdir(exist_ok=True)
    onnx.save_model(
        onnx.load(EXAMPLE), path, save_as_external_data=True, location=location, size_threshold=1024
    )
    return (path.parent / location).read_bytes()


def weights_of(path: Path) -> dict[str, bytes]:
    return {tensor.name: tensor.raw_data for tensor in onnx.load(path).graph.initializer}


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("words", [[], ["--verify"]])
def test_external_data_are_copied_to_another_folder(words: list[str], tmp_path: Path) -> None:
    if words and not available():
        pytest.skip("onnxruntime is not installed")
    models, out = tmp_path / "in", tmp_path / "out"
    for name in ("a.onnx", "b.onnx"):
        with_data(models / name, "shared.bin")
    with_data(models / "c.onnx", "weights/c.bin")
    out.mkdir()
    (out / "a.fixed.onnx.data").write_bytes(b"of an earlier run")
    before = files_below(models)
    report = tmp_path / "report.json"
    assert run([*FIX, str(models), "-o", str(out), *words, "--output", f"json:{report}"]) == 0
    assert files_below(models) == before
    fixed = [f"{name}.fixed.onnx" for name in "abc"]
    assert sorted(file.name for file in out.iterdir()) == sorted(
        [*fixed, *(f"{name}.data" for name in fixed)]
    )
    inline = tmp_path / "inline.onnx"
    assert run([*FIX, str(EXAMPLE), "-o", str(inline)]) == 0
    for name in fixed:
        onnx.checker.check_model(out / name)
        assert data_files_of(out / name) == [f"{name}.data"]
        assert weights_of(out / name) == weights_of(inline)
    for entry in json.loads(report.read_text())["models"]:
        written = Path(entry["output"])
        sizes = [file.stat().st_size for file in (written, written.with_name(f"{written.name}.data"))]
        assert entry["costs"]["bytes_after"] == sum(sizes)


def test_each_bad_model_is_one_error_and_the_others_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models, out = tmp_path / "in", tmp_path / "out"
    with_data(models / "a.onnx", "gone.bin")
    (models / "gone.bin").unlink()
    (models / "broken.onnx").write_bytes(b"\x08\x08\x3a\xff")
    (models / "pointer.onnx").write_text(f"{lfs.FIRST_LINE.decode()}v1\noid sha256:{'a' * 64}\nsize 9\n")
    (models / "z.onnx").write_bytes(EXAMPLE.read_bytes())
    out.mkdir()
    assert run([*FIX, str(models), "-o", str(out), "--format", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, load("trtlint.fix/1"))
    assert [entry["output"] for entry in document["models"]] == [str(out / "z.fixed.onnx")]
    assert [Path(error["path"]).name for error in document["errors"]] == [
        "a.fixed.onnx",
        "broken.onnx",
        "pointer.onnx",
    ]
    assert "cannot be read: check the external data file 'gone.bin'" in document["errors"][0]["message"]
    assert [file.name for file in out.iterdir()] == ["z.fixed.onnx"]


@pytest.mark.parametrize("step", ["datafile.copy_stretch", "writer.write_to"])
def test_a_full_disk_keeps_the_files_of_an_earlier_run(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    model, out = tmp_path / "in" / "a.onnx", tmp_path / "out"
    with_data(model, "w.bin")
    out.mkdir()
    assert run([*FIX, str(model), "-o", str(out)]) == 0
    (out / "a.fixed.onnx.data").write_bytes(b"other data than this run writes")
    before = files_below(out)
    monkeypatch.setattr(f"trtlint.model.{step}", full)
    assert run([*FIX, str(model), "-o", str(out)]) == 3
    assert f"{out / 'a.fixed.onnx'}: cannot be written: No space left on device\n" in capsys.readouterr().out
    assert files_below(out) == before


def test_new_data_never_replace_the_data_of_another_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tmp_path / "in" / "a.onnx", tmp_path / "out"
    with_data(model, "w.bin")
    with_data(out / "b.onnx", "a.fixed.onnx.data")
    data = (out / "a.fixed.onnx.data").read_bytes()
    assert run([*FIX, str(model), str(out / "b.onnx"), "-o", str(out)]) == 3
    assert "a.fixed.onnx: cannot be written: " in capsys.readouterr().out
    assert (out / "a.fixed.onnx.data").read_bytes() == data
    assert (out / "b.fixed.onnx").exists()


def test_a_second_run_skips_the_models_in_the_folder_of_the_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "a.onnx").write_bytes(EXAMPLE.read_bytes())
    for _ in range(2):
        assert run([*FIX, str(tmp_path), "-o", str(out)]) == 0
        assert capsys.readouterr().out.count("a.fixed.onnx") == 1
    assert [file.name for file in out.iterdir()] == ["a.fixed.onnx"]


@pytest.mark.skipif(not available(), reason="onnxruntime is not installed")
def test_no_script_is_written_of_what_was_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def differs(*_: object, **__: object) -> verification.CheckResult:
        return verification.CheckResult("outputs", False, "differs", {})

    monkeypatch.setattr(verification, "outputs", differs)
    out, script = tmp_path / "fixed.onnx", tmp_path / "surgeon.py"
    words = [*FIX, str(EXAMPLE), "-o", str(out), "--script", str(script)]
    assert run([*words, "--verify"]) == 1
    assert not list(tmp_path.iterdir())
    run([*words, "--dry-run"])
    assert list(tmp_path.iterdir()) == [script]


@pytest.mark.skipif(not available(), reason="onnxruntime is not installed")
def test_what_cannot_be_proven_is_written_and_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def untold(*_: object, **__: object) -> verification.CheckResult:
        return verification.CheckResult("outputs", None, "it does not run", {})

    monkeypatch.setattr(verification, "outputs", untold)
    out = tmp_path / "fixed.onnx"
    words = [*FIX, str(EXAMPLE), "-o", str(out), "--verify"]
    assert run(words) == 1
    assert "  outputs: not proven: it does not run\n" in capsys.readouterr().out
    assert out.exists()
    out.unlink()
    assert run([*words, "--dry-run"]) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not available(), reason="onnxruntime is not installed")
@pytest.mark.parametrize("option", ["--inputs", "--load-inputs", "--data-loader-script"])
def test_inputs_that_are_not_there_are_refused_before_anything_is_done(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "given.py"
    words = [*FIX, str(EXAMPLE), "-o", str(tmp_path / "fixed.onnx"), "--ignore", "ACC102", option, str(file)]
    assert run([*words, "--verify"]) == 2
    assert capsys.readouterr().err == f"trtlint: {file}: No such file or directory\n"
    assert run(words) == 2
    assert "inputs need --verify" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.isolated
@pytest.mark.skipif(not available(), reason="onnxruntime is not installed")
def test_inputs_that_cannot_be_used_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "in.npz"
    file.write_bytes(b"PK but no archive")
    assert (
        run([*FIX, str(EXAMPLE), "-o", str(tmp_path / "fixed.onnx"), "--verify", "--inputs", str(file)]) == 2
    )
    assert f"{EXAMPLE}: not written: {file}: not an .npz file of arrays" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_is_written_where_the_script_that_is_asked_for_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(surgeon, "_MOST_ELEMENTS", 0)
    words = [*FIX, str(EXAMPLE), "-o", str(tmp_path / "fixed.onnx"), "--script", str(tmp_path / "edits.py")]
    assert run(words) == 2
    assert "moves the whole attention scale to Q: a new tensor has more than 0" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_an_earlier_run_made_is_not_fixed_again_and_another_model_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tmp_path / "a.onnx", tmp_path / "a.fixed.onnx"
    model.write_bytes(EXAMPLE.read_bytes())
    for paths in ([tmp_path], [tmp_path], [model, out]):
        assert run([*FIX, *map(str, paths)]) == 0
        assert f"{model} -> {out}\n" in capsys.readouterr().out
    out.write_bytes(EXAMPLE.read_bytes())
    assert run([*FIX, str(tmp_path)]) == 2
    assert (
        f"the fixed model of {model} would replace {out}, another model of this command"
        in capsys.readouterr().err
    )
    assert out.read_bytes() == EXAMPLE.read_bytes()
    folder = tmp_path / "out"
    folder.mkdir()
    assert run([*FIX, str(tmp_path), "-o", str(folder)]) == 0
    assert [file.name for file in sorted(folder.iterdir())] == ["a.fixed.fixed.onnx", "a.fixed.onnx"]


@pytest.mark.parametrize(
    ("option", "missing", "said"),
    [
        ("--verify", "onnxruntime", 'pip install "onnxruntime>='),
        ("--verify-build", "tensorrt-rtx", 'pip install "tensorrt-rtx-cu12-'),
    ],
)
def test_a_proof_without_what_it_needs_is_refused(
    option: str,
    missing: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A file without a proof must not look like a proven one."""
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == missing else found(name))
    monkeypatch.setattr(wheels, "_installed", lambda *_: None)
    assert run([*FIX, str(EXAMPLE), "-o", str(tmp_path / "fixed.onnx"), option]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"trtlint: {option}: ")
    assert said in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_of_a_file_in_which_nothing_is_fixed(tmp_path: Path) -> None:
    out = tmp_path / "fixed.onnx"
    assert run([*FIX, str(EXAMPLE), "-o", str(out), "--ignore", "ACC102"]) == 0
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_of_a_file_whose_fix_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def harm(*_: object) -> str:
        return "withdrawn because the rewrite causes the finding ACC999"

    monkeypatch.setattr(session, "harm_of", harm)
    assert run([*FIX, str(EXAMPLE), "-o", str(tmp_path / "fixed.onnx")]) == 1
    assert "withdrawn because the rewrite causes the finding ACC999" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writer, "copy_stretch", full)
    out = tmp_path / "fixed.onnx"
    assert run([*FIX, str(EXAMPLE), "-o", str(out)]) == 3
    assert f"{out}: cannot be written: No space left on device\n" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--script", "--html"])
def test_where_nothing_can_be_written_is_said_before_anything_is_done(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*FIX, str(EXAMPLE), "-o", str(tmp_path / "fixed.onnx"), option, str(tmp_path / "gone" / "file")]
    assert run(words) == 2
    error = capsys.readouterr().err
    assert "cannot write" in error
    assert f"{words[-1]}: there is no folder" in error
    assert not list(tmp_path.iterdir())


def test_a_script_that_cannot_be_written_is_no_reason_to_say_nothing_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(command, "replace_text", full)
    out, script = tmp_path / "fixed.onnx", tmp_path / "edits.py"
    assert run([*FIX, str(EXAMPLE), "-o", str(out), "--script", str(script)]) == 3
    said = capsys.readouterr().out
    assert f"error: {script}: cannot be written: No space left on device\n" in said
    assert f"{EXAMPLE} -> {out}\n" in said


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> tuple[ModelReport, ...]:
        raise KeyboardInterrupt

    monkeypatch.setattr("trtlint.policy.review.Review.apply", interrupted)
    assert run([*FIX, str(EXAMPLE), "-o", str(tmp_path / "fixed.onnx")]) == 130
    assert not list(tmp_path.iterdir())


_TERMINATED = """
import os, signal, sys
from trtlint.cli import run
from trtlint.policy.review import Review

Review.apply = lambda *_: os.kill(os.getpid(), signal.SIGTERM)
run(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there are no signals")
def test_a_process_that_is_told_to_end_does_so_and_leaves_nothing(tmp_path: Path) -> None:
    words = [*FIX, str(EXAMPLE), "-o", str(tmp_path / "fixed.onnx")]
    done = subprocess.run([sys.executable, "-c", _TERMINATED, *words], capture_output=True, check=False)
    assert done.returncode == -signal.SIGTERM
    assert done.stderr == b""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--select", "ACC999"], "trtlint: no rule has the id, id prefix, name or group 'ACC999'"),
        (["--ranges", "no.json"], "trtlint: no.json: "),
        (["--html", "no/page.html"], "trtlint: cannot write html to no/page.html: "),
        (["-o", "no/fixed.onnx"], "trtlint: no/fixed.onnx: folder no does not exist; create it first"),
        (["-o", "no/"], "trtlint: -o: folder no/ does not exist; create it first"),
        (["-o", "vit.onnx"], "trtlint: -o: vit.onnx is the model itself"),
    ],
)
def test_nothing_is_left_of_a_command_that_is_wrong(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = tmp_path / "vit.onnx"
    model.write_bytes(EXAMPLE.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert run(["fix", "vit.onnx", "--trt", "10.7", "--isolated", *words]) == 2
    captured = capsys.readouterr()
    assert said in captured.err + captured.out
    assert list(tmp_path.iterdir()) == [model]


def test_what_is_no_model_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "no.onnx"
    model.write_bytes(b"\x08\x08\x3a\xff")
    assert run(["fix", str(model), "--trt", "10.7", "--isolated"]) == 3
    assert capsys.readouterr().out.count(str(model)) == 1
    assert list(tmp_path.iterdir()) == [model]


def test_the_time_to_find_fixed_models_is_linear() -> None:
    tasks: list[Any] = [SimpleNamespace(file=Path(f"m{index}.onnx")) for index in range(10_000)]
    began = time.process_time()
    assert len(_sources(tasks, None)) == len(tasks)
    assert time.process_time() - began < 2.5  # a third of a second; five and more in quadratic time
