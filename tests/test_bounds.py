"""Tests of resource limits on untrusted files, and of errors instead of crashes."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import onnx
import pytest

from tests.attacks import MODELS, model
from tests.pumping import patterns, slowest
from tests.sampling import sample
from tests.workspace import Workspace
from trtlint.buildfiles import scan
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.patterns import SEARCHED, LogPattern, table
from trtlint.cli import run
from trtlint.engine.rulefile import load_rule
from trtlint.files import limits
from trtlint.files.globs import matches_path
from trtlint.files.limits import LimitError, limit_work
from trtlint.model.load import ModelSource, load

pytestmark = pytest.mark.isolated

SECONDS = 60.0
"""CPU time after which a run counts as endless: the slowest takes 3 s on an idle machine."""
MEMORY = 1 << 30
SAID = {
    "constant_of_another_type": "",
    "opset_beyond_32_bits": "is new",
    "bodies_in_functions": "more than 30 deep",
    "bytes_in_functions": "expand to more than",
    "graphs_passed_to_functions": "expand to more than",
    "calls_of_one_name": "",
    "dimensions": "100,000 dimensions",
    "dimensions_of_a_constant": "100,000 dimensions",
    "growing_shapes": "shape inference failed",
    "long_names_of_bodies": "",
    "path_of_many_parts": "",
    "many_suppressions": "at most 1000 entries",
}
PREFIX = "[11/11/2024-11:11:11] [{0}] [TRT] "


def lint(work: Workspace, *args: str) -> str:
    """Run the command and return all its output."""
    if work.run("lint", *args) in (0, 1):
        return work.out
    said = work.capsys.readouterr()
    return said.out + said.err


@contextmanager
def quick() -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_attacks(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each model has a bound of its own. A busy machine would reach the limit of CPU time before this bound.
    monkeypatch.setattr(limits, "SECONDS", SECONDS)
    path = tmp_path / "model.onnx"
    path.write_bytes(MODELS[name]().SerializeToString())
    with quick():
        code = run(["lint", str(path), "--no-cache", "--trt", "10.8", "--gpu", "L4"])
    assert code in (0, 1, 3)
    assert SAID[name] in capsys.readouterr().out


def test_names_that_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A body has the invalid name, because names connect it to outer constants."""
    relu = onnx.helper.make_node("Relu", ["x"], ["b"])
    body = onnx.helper.make_graph([relu], "g", [], [onnx.helper.make_tensor_value_info("b", 1, None)])
    nodes = [
        onnx.helper.make_node("Constant", [], ["QQ"], value_ints=[1]),
        onnx.helper.make_node("If", ["x"], ["y"], then_branch=body, else_branch=body),
    ]
    path = tmp_path / "model.onnx"
    path.write_bytes(model(nodes).SerializeToString().replace(b"QQ", b"\x80Q"))
    assert run(["lint", str(path), "--no-cache"]) in (0, 1, 3)
    assert "a bug" not in capsys.readouterr().out


@pytest.mark.parametrize("where", ["error", "finding"])
def test_a_name_of_megabytes_is_not_said_whole(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "v" * (2 << 20)
    path = tmp_path / "model.onnx"
    made = model([onnx.helper.make_node("Relu", ["x" if where == "error" else long], ["y"], name=long)])
    made.graph.input[0].name = long
    if where == "finding":
        made.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.STRING
        made.graph.node[0].name = ""
    path.write_bytes(made.SerializeToString())
    code = run(["lint", str(path), "--no-cache", "--trt", "10.8", "--format", "concise"])
    assert code == (3 if where == "error" else 1)
    assert max(map(len, capsys.readouterr().out.splitlines())) < 4_000


SMALL_PARENT = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(process.returncode, usage.ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "wait4"), reason="no figures of other processes")
def test_memory_of_attacks(tmp_path: Path) -> None:
    """One run covers all attacks, so memory must be freed between them. Child processes count."""
    for name, made in MODELS.items():
        (tmp_path / f"{name}.onnx").write_bytes(made().SerializeToString())
    command = [sys.executable, "-m", "trtlint", "lint", str(tmp_path), "--no-cache", "--isolated", "-q"]
    # Linux counts the memory of the parent when it starts a child, and a process of tests may be large.
    small_parent = [sys.executable, "-c", SMALL_PARENT, *command]
    done = subprocess.run(small_parent, capture_output=True, cwd=tmp_path, check=True)
    code, peak = map(int, done.stdout.split())
    assert code == 3
    assert peak * (1 if sys.platform == "darwin" else 1024) < MEMORY


def log(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "build.log"
    path.write_text("\n".join(["&&&& RUNNING TensorRT.trtexec [TensorRT v101600] # trtexec", *lines, ""]))
    return path


@pytest.mark.parametrize(
    "line",
    [
        PREFIX.format("V") + "Subgraph compilation completed in 1.2.3 seconds.",
        PREFIX.format("V") + "Subgraph compilation completed in 1e999 seconds.",
        PREFIX.format("W")
        + f"Skipping tactic 0x1 due to insufficient memory on requested size of {'9' * 5000} detected.",
        PREFIX.format("I") + f"Total Activation Memory: {'9' * 5000}",
        PREFIX.format("W") + "a" * 20_000 + " deprecated",
        PREFIX.format("W") + "a " * 10_000 + " deprecated",
        PREFIX.format("V") + "Parsing node: " + " [" * 50_000,
        "[11/11/2024-11:11:11] [I] === Build Options ===\n[11/11/2024-11:11:11] [I] Precision: "
        + "A" * 150_000,
        "[11/11/2024-11:11:11] [I] === Profile (10 iterations ) ===\n[11/11/2024-11:11:11] [I]   a"
        + " 1" * 9_000
        + " x",
        "2024-11-11 11:11:11.1 [W:onnxruntime:x] " + " [tensorrt_execution_provider" * 100_000 + "]x]",
    ],
    ids=[
        "points",
        "infinite",
        "digits",
        "more digits",
        "word",
        "words",
        "brackets",
        "option",
        "row",
        "origin",
    ],
)
def test_a_log_that_attacks(line: str, tmp_path: Path) -> None:
    path = log(tmp_path, *line.split("\n"))
    with quick():
        code = run(["lint", str(path), "--no-cache", "-q"])
    assert code in (0, 1)


def test_the_numbers_of_a_log_that_are_none_are_left_out(tmp_path: Path) -> None:
    lines = [
        PREFIX.format("V") + f"Subgraph compilation completed in {text} seconds." for text in ("1.2.3", "2.5")
    ]
    records = read_log(log(tmp_path, *lines)).records["island_time"]
    assert [record.number("seconds") for record in records] == [None, 2.5]


def test_gzip_data_unpack_to_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "build.log.gz"
    path.write_bytes(gzip.compress(b"\0" * (160 << 20), 9))
    found = read_log(path)
    assert found.size <= 96 << 20
    assert "unpacks to more than" in found.notes[0]


@pytest.mark.parametrize("line", [b"\0", b"[11/11/2024-11:11:11] [V] [TRT] Tactic: 0x1 Time: 0.1\n"])
def test_a_log_is_read_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    monkeypatch.setattr(scan, "MOST", 5 << 20)
    path = tmp_path / "build.log"
    path.write_bytes(line * ((8 << 20) // len(line)))
    found = read_log(path)
    assert found.size <= 5 << 20
    assert "longer than" in found.notes[0]


@pytest.mark.slow
def test_a_log_of_warnings_is_read_to_a_bound(tmp_path: Path) -> None:
    path = log(tmp_path, *[PREFIX.format("W") + "same"] * 260_000)
    found = read_log(path)
    assert found.lines < 230_000
    assert "more than 200,000 warnings" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"Layers": [' + '"a",' * 200_001 + '"b"]}', "200,002 layers"),
        ('{"Layers": [' + "9" * 5_000 + "]}", "too many digits"),
    ],
)
def test_layers_that_attack(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "layers.json"
    path.write_text(text)
    with quick():
        assert run(["lint", "--layers", str(path), "--no-cache"]) == 3
    assert said in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("pattern", table().patterns, ids=lambda pattern: pattern.name)
def test_patterns_of_logs_take_no_longer_than_their_texts(pattern: LogPattern) -> None:
    """The slowest search takes 0.06 s on an idle machine. The text has a third of the length limit."""
    length = 40_000 if pattern.whole else SEARCHED // 3
    assert slowest(pattern.compiled, length, 0.5, most=120)[0] < 0.5


@pytest.mark.slow
def test_expressions_take_no_longer_than_their_texts() -> None:
    slow = [name for name, pattern in patterns() if slowest(pattern, 500, 0.5, most=100)[0] > 0.5]
    assert slow == []


@pytest.mark.parametrize(
    ("key", "line", "said"),
    [
        ("where", "round(1" + "0" * 400 + ") == 1.5", ""),
        ("references", "- https://" + "a." * 60_000, "longer than 500"),
        ("references", "- https://" + "a." * 240, "not a https URL"),
        ("applies", "  tensorrt: '==" + "1" * 100_000 + "'", "longer than 500"),
    ],
)
def test_a_rule_that_attacks(work: Workspace, key: str, line: str, said: str) -> None:
    work.rule("own", "ZZZ101", "evil", op="Relu")
    path = work.path / "own" / "ZZZ101-evil.md"
    text = path.read_text()
    if key == "where":
        text = text.replace('where: op == "Relu"', f"where: {line}")
    elif key == "references":
        text = text.replace("- https://example.org/ZZZ101", line)
    else:
        text = text.replace("find:", f"applies:\n{line}\nfind:")
    path.write_text(text)
    with quick():
        shown = lint(work, "--rules", "own", "models/a.onnx")
    assert work.code in ((2,) if said else (0, 1))
    assert said in shown


def test_the_lines_of_a_pattern_are_short(work: Workspace) -> None:
    work.rule("own", "ZZZ101", "evil", op="Relu")
    path = work.path / "own" / "ZZZ101-evil.md"
    text = path.read_text().replace(
        "find: node", "find: pattern\nmatch: |\n  y = Relu(x)\n  " + "a " * 60_000
    )
    path.write_text(text.replace('where: op == "Relu"\nmark: [node]\n', "").replace("{op}", "Relu"))
    with quick(), pytest.raises(ValueError, match="longer than 1000"):
        load_rule(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".".join(["a"] * 900) + " = 1", "nested"),
        ('rules = ["a\\u0000b"]', "NUL"),
        ("select = " + "[" * 2_000 + "]" * 2_000, "not TOML"),
        ("a = " + "9" * 5_000, "not TOML"),
        ("# " + "x" * (5 << 20), "longer than"),
    ],
)
def test_a_configuration_that_attacks_is_the_problem_of_its_own_models(
    work: Workspace, text: str, said: str
) -> None:
    work.save("bad/c.onnx", [("Relu", "")])
    work.toml("bad/trtlint.toml", text)
    with quick():
        shown = lint(work, "models/a.onnx", "bad/c.onnx")
    assert work.code == 2
    assert "XYZ901" in shown
    assert str(Path("bad/c.onnx")) in shown
    assert said in shown


def test_a_configuration_that_no_model_can_do_without_ends_the_run(work: Workspace) -> None:
    work.toml("trtlint.toml", "sellect = []")
    assert "sellect" in lint(work, "models/a.onnx", "models/b.onnx")
    assert work.code == 2


@pytest.mark.parametrize("name", ["n" * 300, "d/" * 3000 + "m.onnx", "n" * 300 + ".onnx_data", "[" * 300])
def test_a_name_that_no_file_can_have_is_the_problem_of_itself(work: Workspace, name: str) -> None:
    shown = lint(work, "models/a.onnx", name)
    assert work.code == 3
    assert "XYZ901" in shown


def test_folders_of_rules_that_cannot_be(work: Workspace) -> None:
    work.toml("trtlint.toml", f'rules = ["{"r" * 300}"]')
    assert "no such file or folder" in lint(work, "models/a.onnx")
    assert work.code == 2


def test_globs_of_many_stars(tmp_path: Path) -> None:
    with quick():
        assert not matches_path("*a" * 30 + "b", "a" * 3000)
        assert matches_path("**/" * 30 + "*a*" * 20, "a/" * 500 + "a" * 30)


def endless(*_: object, **__: object) -> None:
    """Use more CPU time than the limits in tests allow."""
    end = time.process_time() + 3
    while time.process_time() < end:
        pass
    raise AssertionError("nothing ended it")


class TestLimits:
    def test_time(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(limits, "SECONDS", 0.2)
        with quick(), pytest.raises(LimitError, match="processor time"), limit_work(tmp_path / "x"):
            while True:
                sum(range(1000))

    def test_memory(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(limits, "MEMORY", 30 << 20)
        held: list[bytes] = []
        with pytest.raises(LimitError, match="MiB of memory"), limit_work(tmp_path / "x"):
            while True:
                held.append(bytes(range(256)) * 400)

    def test_the_limits_grow_with_a_large_file(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(limits, "SECONDS", 0.0)
        large = tmp_path / "large.onnx"
        with large.open("wb") as file:
            file.truncate(200 << 20)
        with limit_work(large):
            began = time.process_time()
            while time.process_time() - began < 0.2:
                pass

    def test_what_is_caught_within_does_not_catch_it(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(limits, "SECONDS", 0.1)
        with pytest.raises(LimitError), limit_work(tmp_path / "x"):
            while True:
                with suppress(Exception):
                    sum(range(1000))

    @pytest.mark.slow
    def test_the_way_out_is_not_interrupted(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(limits, "SECONDS", 0.2)
        with pytest.raises(LimitError), limit_work(tmp_path / "x"):
            try:
                while True:
                    sum(range(1000))
            finally:  # as when a gigabyte is freed
                end = time.process_time() + 0.5
                while time.process_time() < end:
                    sum(range(1000))

    def test_a_second_one_within(self, tmp_path: Path) -> None:
        with limit_work(tmp_path / "x"), limit_work(tmp_path / "y"):
            pass
        with limit_work(tmp_path / "x"):
            pass

    def test_another_thread_has_none(self, tmp_path: Path) -> None:
        done: list[bool] = []

        def work() -> None:
            with limit_work(tmp_path / "x"):
                done.append(True)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert done == [True]

    @pytest.mark.parametrize("step", ["trtlint.fixes.source.decode", "trtlint.fixes.relint.interpret"])
    def test_fix_holds_to_them(self, monkeypatch: pytest.MonkeyPatch, work: Workspace, step: str) -> None:
        monkeypatch.setattr(step, endless)
        monkeypatch.setattr(limits, "SECONDS", 0.2)
        assert work.run("fix", "models/a.onnx") == 3
        assert (
            "a.onnx: reading and checking this file exceeded the limit of 0.2 s of processor time, "
            "which grows with" in work.capsys.readouterr().out
        )

    @pytest.mark.parametrize(
        ("step", "command"),
        [
            ("trtlint.model.load.load", ["facts"]),
            ("trtlint.model.load._inlined", ["--explain-miss", "XYZ901", "node"]),
            ("trtlint.model.load._inlined", ["upgrade", "--from", "8.6", "--to", "10.8"]),
            ("trtlint.commands.skeleton.outline", ["skeleton"]),
        ],
        ids=["facts", "explain-miss", "upgrade", "skeleton"],
    )
    def test_other_commands_hold_to_them(
        self,
        monkeypatch: pytest.MonkeyPatch,
        work: Workspace,
        capsys: pytest.CaptureFixture[str],
        step: str,
        command: list[str],
    ) -> None:
        monkeypatch.setattr(step, endless)
        monkeypatch.setattr(limits, "SECONDS", 0.2)
        assert run([*command, "models/a.onnx"]) == 3
        shown = capsys.readouterr()
        assert (
            "a.onnx: reading and checking this file exceeded the limit of 0.2 s of processor time, "
            "which grows with" in shown.out + shown.err
        )

    def test_the_file_is_named_and_the_others_are_linted(
        self, monkeypatch: pytest.MonkeyPatch, work: Workspace
    ) -> None:
        busy = load

        def slow(path: Path, source: ModelSource | None = None) -> object:
            while path.name == "a.onnx":
                pass
            return busy(path, source)

        monkeypatch.setattr("trtlint.model.load.load", slow)
        monkeypatch.setattr(limits, "SECONDS", 0.2)
        shown = lint(work, "models/a.onnx", "models/b.onnx", "--no-cache", "-j", "1")
        assert work.code == 3
        assert (
            "a.onnx: reading and checking this file exceeded the limit of 0.2 s of processor time, "
            "which grows with" in shown
        )
        assert "b.onnx: no findings" in shown


@pytest.fixture
def hostile(shared: Path) -> Callable[[str], list[Path]]:
    def files(pattern: str) -> list[Path]:
        found = sorted((shared / "data" / "hostile").glob(pattern))
        if not found:
            pytest.skip("no hostile files")
        return found

    return files


@pytest.mark.slow
def test_hostile_models(hostile: Callable[[str], list[Path]], tmp_path: Path) -> None:
    for packed in sample(hostile("*.onnx*"), one_of=5):
        data = packed.read_bytes()
        path = tmp_path / packed.name.removesuffix(".gz")
        path.write_bytes(gzip.decompress(data) if packed.suffix == ".gz" else data)
        with quick():
            code = run(["lint", str(path), "--no-cache", "--trt", "10.8", "-q"])
        assert code in (0, 1, 3), packed.name


@pytest.mark.slow
def test_hostile_logs(hostile: Callable[[str], list[Path]]) -> None:
    for path in [*hostile("*.log"), *hostile("*.log.gz")]:
        with quick():
            code = run(["lint", str(path), "--no-cache", "-q"])
        assert code in (0, 1, 3), path.name


def test_hostile_rules(hostile: Callable[[str], list[Path]], work: Workspace) -> None:
    for folder in hostile("rules/*"):
        with quick():
            lint(work, "--rules", str(folder), "models/a.onnx")
        assert work.code in (0, 1, 2), folder.name


@pytest.mark.isolated
@pytest.mark.parametrize("form", ["full", "concise", "json", "jsonl", "github", "junit", "markdown", "sarif"])
def test_types_that_cannot_be_inferred_are_not_taken_for_clean(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trtlint.model.infer.SECONDS", 0.0)
    text = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { a = Abs (x)  y = Abs (a) }'
    )
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    command = ["lint", str(path), "--no-cache", "--isolated", "--trt", "10.8", "-q", "--format", form]
    assert run(command) == 3
    said = capsys.readouterr()
    assert "inference reached a limit (the ONNX library exceeded the limit of 0 s)" in " ".join(
        (said.out + said.err).split()
    )
    declared = onnx.load(path)
    declared.graph.value_info.append(onnx.helper.make_tensor_value_info("a", 1, [2]))
    onnx.save(declared, path)
    assert run(command) == 0
    assert "reached a limit" not in capsys.readouterr().out
