"""Tests of the command in an untrusted checkout: special files, links and planted files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.files.special import at_most, make, needs_posix
from trtlint.cli import run
from trtlint.model import reader

REPOSITORY = Path(__file__).resolve().parent.parent
"""The root of the checkout."""
BAD = '< ir_version: 8, opset_import: ["" : 17] > g (float[4] x) => (float[4] y) { y = %s (x) }'
SOME = '[[models]]\npath = "*"\n'
RULE = """---
id: XYZ901
name: house-sin
severity: error
since: 0.1.0
evidence: documented
find: node
where: op == "Sin"
message: "a Sin is here"
advice:
  - do: "Take it out."
references:
  - https://example.org/sin
---
"""

pytestmark = [needs_posix, pytest.mark.isolated]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout as the current folder: two models, one with a finding, and its rule."""
    checkout = tmp_path / "checkout"
    (checkout / "house").mkdir(parents=True)
    onnx.save(onnx.parser.parse_model(BAD % "Sin"), checkout / "bad.onnx")
    onnx.save(onnx.parser.parse_model(BAD % "Abs"), checkout / "good.onnx")
    (checkout / "house" / "XYZ901-house-sin.md").write_text(RULE)
    monkeypatch.chdir(checkout)
    return checkout


Trtlint = Callable[..., tuple[int, str]]


@pytest.fixture
def trtlint(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Trtlint]:
    """Run the command on a terminal without input; return the exit code and all output."""

    def done(*arguments: str) -> tuple[int, str]:
        with at_most():
            code = run(arguments)
        said = capfd.readouterr()
        return code, said.out + said.err

    reader, writer = os.pipe()
    with os.fdopen(reader) as file:
        monkeypatch.setattr(sys, "stdin", file)
        yield done
    os.close(writer)


def one_line(out: str, *words: str) -> None:
    """Require one output line with these words, and no report of a bug."""
    (line,) = [line for line in out.splitlines() if words[0] in line]
    assert all(word in line for word in words), out
    assert "Traceback" not in out


SPECIAL = {"pipe": "a pipe", "link to a device": "a device", "device": "a device"}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["{}"], 3),
        (["bad.onnx", "--log", "{}"], 3),
        (["bad.onnx", "--layers", "{}"], 3),
        (["bad.onnx", "--profile", "{}"], 3),
        (["bad.onnx", "--config", "{}"], 2),
        (["bad.onnx", "--baseline", "{}"], 2),
        (["bad.onnx", "--rules", "{}"], 2),
        (["bad.onnx", "--build", "{}"], 2),
        (["facts", "{}"], 3),
        (["test", "{}"], 2),
        (["suppress", "{}", "ACC102", "--reason", "r", "-o", "copy.onnx"], 3),
    ],
)
def test_special_files_are_not_read(
    folder: Path, trtlint: Trtlint, kind: str, arguments: list[str], code: int
) -> None:
    file = make(kind, folder / "special")
    got, out = trtlint(*(word.format(file) for word in arguments))
    assert got == code, out
    one_line(out, f"this is {SPECIAL[kind]}", file.name)


@pytest.mark.parametrize("kind", ["pipe", "link to a device"])
@pytest.mark.parametrize("name", ["trtlint.toml", "pyproject.toml"])
def test_special_files_are_no_configuration(folder: Path, trtlint: Trtlint, name: str, kind: str) -> None:
    make(kind, folder / name)
    code, out = trtlint("good.onnx")
    assert code == 2
    assert out == f"trtlint: {name}: this is {SPECIAL[kind]}, not a regular file\n"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (SOME + 'log = "/dev/zero"', 3, "this is a device"),
        (SOME + 'layers = "/dev/zero"', 3, "this is a device"),
        (SOME + 'profile = "pipe"', 3, "this is a pipe"),
        (SOME + 'log = "-"', 3, "No such file"),
        ('baseline = "pipe"', 2, "this is a pipe"),
        ('rules = ["pipe"]', 2, "this is a pipe"),
        ('rules = ["/dev/zero"]', 2, "this is a device"),
        ('rules = ["/"]', 2, "not a folder of rules"),
    ],
)
def test_what_a_configuration_names_is_not_waited_for(
    folder: Path, trtlint: Trtlint, text: str, code: int, said: str
) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "trtlint.toml").write_text(text)
    got, out = trtlint("good.onnx")
    assert (got, said in out) == (code, True), out


@pytest.mark.parametrize("arguments", [("pipe",), ("good.onnx", "--log", "pipe"), ("good.onnx", "pipe")])
def test_a_pipe_is_not_waited_for_and_the_way_to_give_a_log_is_named(
    folder: Path, trtlint: Trtlint, arguments: tuple[str, ...]
) -> None:
    os.mkfifo(folder / "pipe")
    code, out = trtlint(*arguments, "--isolated")
    assert (code, "this is a pipe, not a regular file; pipe a log into trtlint --log -" in out) == (3, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("bad.onnx", "--source-root", "loop"),
        ("fix", "fixable.onnx", "--trt", "10.7", "--verify", "--inputs", "loop"),
        ("fix", "fixable.onnx", "--trt", "10.7", "--verify", "--load-inputs", "loop"),
        ("measure", "bad.onnx", "--inputs", "loop"),
        ("bad.onnx", "--cache-dir", "loop"),
    ],
)
def test_a_link_to_itself_leads_nowhere(folder: Path, trtlint: Trtlint, arguments: tuple[str, ...]) -> None:
    onnx.save(onnx.parser.parse_model(FIXABLE), folder / "fixable.onnx")
    (folder / "loop").symlink_to("loop")
    code, out = trtlint(*arguments)
    assert code in (0, 1, 2, 3), out
    assert "a bug" not in out


@pytest.mark.slow
def test_an_endless_file_is_read_in_part(folder: Path, trtlint: Trtlint) -> None:
    for name in ("trtlint.toml", "base.json", "build.sh", "layers.json"):
        with (folder / name).open("wb") as file:
            file.write(b'[{"Name": ')
            file.truncate(1 << 34)  # a hole
    for arguments in ((), ("--isolated", "--baseline", "base.json"), ("--isolated", "--build", "build.sh")):
        code, out = trtlint("good.onnx", *arguments)
        assert (code, "longer than" in out) == (2, True), out
    code, out = trtlint("good.onnx", "--isolated", "--layers", "layers.json")
    assert (code, "longer than" in out) == (3, True), out


FOUND = ("bad.onnx", "--rules", "house", "--select", "XYZ901", "--isolated")


@pytest.mark.parametrize(
    "arguments",
    [
        (*FOUND, "--write-baseline", "{}"),
        (*FOUND, "--output", "json:{}"),
        (*FOUND, "--output", "concise:{}"),
        ("suppress", "bad.onnx", "XYZ901", "--rules", "house", "--reason", "r", "-o", "{}"),
    ],
)
@pytest.mark.parametrize("kind", ["pipe", "link to a device", "link", "dangling", "directory", "model"])
def test_only_regular_files_are_replaced(
    folder: Path, trtlint: Trtlint, tmp_path: Path, arguments: tuple[str, ...], kind: str
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("{}")
    place = folder / "special"
    if kind == "link":
        place.symlink_to(outside)
    elif kind == "dangling":
        place.symlink_to(tmp_path / "missing")
    elif kind == "model":
        place.hardlink_to(folder / "bad.onnx")
    else:
        make(kind, place)
    model, before = (folder / "bad.onnx").read_bytes(), place.lstat()
    code, out = trtlint(*(word.format("special") for word in arguments))
    assert code == 2, out
    one_line(out, "cannot write", "special")
    assert os.path.samestat(place.lstat(), before)
    assert (folder / "bad.onnx").read_bytes() == model
    assert outside.read_text() == "{}"
    assert {path.name for path in tmp_path.iterdir()} == {"checkout", "outside"}


def test_a_baseline_is_written_over_baselines_only(folder: Path, trtlint: Trtlint) -> None:
    before = (folder / "good.onnx").read_bytes()
    code, out = trtlint(*FOUND, "--write-baseline", "good.onnx")  # `--write-baseline *.onnx`
    assert (code, "the existing file is not a baseline" in out) == (2, True), out
    assert (folder / "good.onnx").read_bytes() == before
    for _ in range(2):
        code, out = trtlint(*FOUND, "--write-baseline", "base.json")
        assert code == 0, out


def test_external_data_are_not_replaced(folder: Path, trtlint: Trtlint) -> None:
    model = onnx.load(folder / "bad.onnx")
    data = onnx.numpy_helper.from_array(np.ones(400, "float32"), "w")
    model.graph.initializer.append(data)
    onnx.save(model, folder / "e.onnx", save_as_external_data=True, location="e.onnx.data", size_threshold=0)
    before = (folder / "e.onnx.data").read_bytes()
    for words, said in (
        (("e.onnx", "--isolated", "--output", "json:e.onnx.data"), "MEM150"),
        (("suppress", "e.onnx", "ACC102", "--reason", "r", "-o", "e.onnx.data"), ""),
    ):
        code, out = trtlint(*words)
        assert (code in (2, 3), "read in this run" in out) == (True, True), out
        assert said in out  # what was said before is not lost
        assert (folder / "e.onnx.data").read_bytes() == before


REWRITTEN = """
import sys
from pathlib import Path
from trtlint.cli import run
from trtlint.model import reader

def changed(head, before=reader.sniff.foreign):
    if b"victim" in head:
        {change}
    return before(head)

reader.sniff.foreign = changed
sys.exit(run(["victim.onnx", "bad.onnx", "--rules", "house", "--select", "XYZ901", "--format", "concise"]))
"""
CUT = 'Path("victim.onnx").write_bytes(b"")'
APPEND = 'Path("victim.onnx").open("ab").write(b"x")'


@pytest.mark.slow
@pytest.mark.parametrize("change", [CUT, APPEND])
def test_a_model_that_is_rewritten_costs_no_other_findings(folder: Path, change: str) -> None:
    model = onnx.load(folder / "bad.onnx")
    model.graph.name = "victim"
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(1 << 20, "float32"), "w"))
    onnx.save(model, folder / "victim.onnx")
    done = subprocess.run(
        [sys.executable, "-c", REWRITTEN.format(change=change)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    victim, bad = done.stdout.splitlines()
    assert victim == "victim.onnx: error: the file changed while it was read"
    assert "error[XYZ901]" in bad


def test_weights_that_are_rewritten_are_unknown(folder: Path) -> None:
    model = onnx.load(folder / "bad.onnx")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(1 << 20, "float32"), "w"))
    file = folder / "weights.onnx"
    onnx.save(model, file)
    raw = reader.read(file)
    (tensor,) = reader.decode(raw.data).graph.initializer
    held = raw.tensors.array(tensor)
    file.write_bytes(b"")
    assert held is not None
    assert held.sum() == 1 << 20
    assert raw.tensors.array(tensor) is None
    (note,) = raw.tensors.notes
    assert "the file changed while it was linted" in note


FIXABLE = """< ir_version: 9, opset_import: ["" : 19] > g (float[2,4] x) => (float[2,4] y)
< int32[4] q = {1, 2, 3, 4}, float[4] s = {0.1, 0.2, 0.3, 0.4}, int32[4] z = {0, 0, 0, 0} >
{ b = DequantizeLinear <axis = 0> (q, s, z)  y = Add (x, b) }"""


@pytest.mark.parametrize("planted", [True, False])
def test_a_fixed_model_replaces_no_special_file(
    folder: Path, tmp_path: Path, trtlint: Trtlint, planted: bool
) -> None:
    onnx.save(onnx.parser.parse_model(FIXABLE), folder / "fixable.onnx")
    place = folder / "fixable.fixed.onnx"
    if planted:
        place.symlink_to(tmp_path / "outside")
    code, out = trtlint("fix", "fixable.onnx", "good.onnx", "--trt", "10.7", "--isolated")
    assert "good.onnx" in out
    if planted:
        assert code == 3, out
        one_line(out, "this is a symbolic link", "fixable.fixed.onnx: cannot be written")
        assert place.is_symlink()
    else:
        assert place.is_file(), out
    assert not (tmp_path / "outside").exists()


def test_an_engine_that_a_configuration_names_is_not_loaded(
    folder: Path, trtlint: Trtlint, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[Path] = []
    monkeypatch.setattr("trtlint.buildfiles.record.inspect_plan", lambda path: loaded.append(path) or "no")
    (folder / "x.engine").write_bytes(b"ftrt" + bytes(20) + bytes([10, 7, 0, 23]))
    (folder / "trtlint.toml").write_text(f'{SOME}layers = "x.engine"\n')
    code, out = trtlint("good.onnx")
    assert (code, loaded) == (0, []), out
    assert "10.7" in out
    trtlint("good.onnx", "--layers", "x.engine")
    assert loaded == [Path("x.engine")]
