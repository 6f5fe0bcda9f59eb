"""Tests that the Python API rejects wrong arguments before any work, with a one-line error."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import trtlint
from tests.dry_build.rtx import NEEDS_WHEELS
from trtlint import api, tools
from trtlint.arguments import ARGUMENTS, read, read_file, read_local, read_one, read_paths
from trtlint.cli import cli
from trtlint.keywords import Keywords
from trtlint.runs.dryjob import DryJob

RELU = '< ir_version: 8, opset_import: ["" : 17] > g (float[1,8] x) => (float[1,8] y) { y = Relu (x) }'
FUNCTIONS = (
    api.lint, api.check, api.fix, api.upgrade, api.measure, trtlint.convert, tools.explain_miss,
    tools.find_facts, tools.skeleton, tools.suppress, tools.trend, tools.write_report,
)  # fmt: skip
OTHERS = {"model", "names", "report", "earlier", "later"}
"""Parameters that the functions check themselves."""
NO_KEYWORDS = {
    "cache", "cache_dir", "config", "executor", "exit_zero", "explain_miss", "format_", "jobs",
    "no_dry_build", "output", "outputs", "quiet", "require_lfs", "show_conditional", "show_settings",
    "source_root", "statistics", "update_baseline", "write_baseline",
}  # fmt: skip
"""Command-line options for output, configuration files and execution."""


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a model in the current folder, which also has a folder with another model."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name in ("model.onnx", "folder/other.onnx"):
        onnx.save(onnx.parser.parse_model(RELU), name)
    return tmp_path / "model.onnx"


def keyword(**keywords: Any) -> Callable[[], object]:
    """Lint the model with keywords."""
    return lambda: trtlint.lint("model.onnx", **keywords)


def measuring(**keywords: Any) -> Callable[[], object]:
    """Measure the model with arguments."""
    return lambda: trtlint.measure("model.onnx", **keywords)


def converting(**keywords: Any) -> Callable[[], object]:
    """Convert the model with arguments."""
    return lambda: trtlint.convert("model.onnx", **{"to": "fp16", **keywords})


def loose(function: Callable[..., object], *given: Any, **keywords: Any) -> Callable[[], object]:
    """Call a function with arguments of the wrong type."""
    return lambda: function(*given, **keywords)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (keyword(fp16="yes"), "fp16='yes': expected True or False"),
        (keyword(strongly_typed=1), "strongly_typed=1: expected True or False"),
        (keyword(weights="x"), "weights='x': expected True or False"),
        (keyword(trt=10.7), "trt=10.7: expected a version such as '10.7', or several"),
        (keyword(trt=["10.7", 10.8]), "trt[1]=10.8: expected a version such as '10.7', or several"),
        (keyword(gpu=89), "gpu=89: expected a text such as 'L4', 'sm89' or 'sm75,sm89'"),
        (keyword(plugins=5), "plugins=5: expected names of plugins"),
        (keyword(plugins=np.array("a")), "plugins=<ndarray>: expected names of plugins"),
        (keyword(rules=np.array(1)), "rules=<ndarray>: expected rules that trtlint.load_rules returned"),
        (
            loose(trtlint.lint, np.array(1)),
            "path=<ndarray>: expected a path, paths, an onnx.ModelProto, or the result of torch.onnx.export",
        ),
        (
            loose(trtlint.lint, "model.onnx", np.array(1)),
            "target=<ndarray>: expected a trtlint.Target, or several",
        ),
        (loose(trtlint.read_build, np.array(1)), "paths=<ndarray>: expected paths"),
        (
            measuring(inputs=np.array(1)),
            "inputs=<ndarray>: expected a path or a dictionary of arrays, or several",
        ),
        (keyword(rules="house"), "rules='house': expected rules that trtlint.load_rules returned"),
        (keyword(rules=["house"]), "rules[0]='house': expected rules that trtlint.load_rules returned"),
        (keyword(select=5), "select=5: expected ids, id prefixes, names or groups of rules"),
        (keyword(command=5), "command=5: expected a trtexec command, or a path"),
        (keyword(log=5), "log=5: expected a path"),
        (keyword(log=""), "log='': expected a path; the given text is not a valid file name"),
        (
            keyword(record="build.log"),
            "record='build.log': expected a build that trtlint.read_build returned",
        ),
        (
            keyword(ranges=5),
            "ranges=5: expected a path, or a result of trtlint.measure",
        ),
        (
            keyword(dry_build="zzz"),
            "dry_build='zzz': expected True, False, 'parse', 'build', or a release of TensorRT-RTX such as "
            "'1.7.1'",
        ),
        (
            keyword(compare=5),
            "compare=5: expected True, 'probe', or paths of .npz files or of folders with .npz files",
        ),
        (
            keyword(shapes="x"),
            "shapes='x': expected shapes such as 'x:1x3x224x224' or {'x': (1, 3, 224, 224)}",
        ),
        (keyword(shapes={"x": (1, -3)}), "shapes['x']=-3: expected sizes such as (1, 3, 224, 224)"),
        (keyword(shapes={"x": "13"}), "shapes['x']='13': expected sizes such as (1, 3, 224, 224)"),
        (keyword(dry_build_seconds=0), "dry_build_seconds=0: expected seconds above 0, at most 86400"),
        (keyword(dry_build_memory=1.5), "dry_build_memory=1.5: expected a number of bytes above 0"),
        (
            keyword(min_confidence="zz"),
            "min_confidence='zz': expected one of 'confirmed', 'high', 'medium', 'low'",
        ),
        (keyword(target="10.7"), "target='10.7': expected a trtlint.Target, or several"),
        (keyword(target=[5]), "target[0]=5: expected a trtlint.Target, or several"),
        (keyword(target=[]), "target is empty: expected a trtlint.Target, or several"),
        (keyword(fp61=True), "no keyword 'fp61'; did you mean 'fp16'?"),
        (measuring(batches=0), "batches=0: expected a whole number above 0"),
        (measuring(batches=True), "batches=True: expected a whole number above 0"),
        (measuring(bound=float("nan")), "bound=nan: expected a finite number above 0"),
        (measuring(bound=10**4000), "bound=<int>: expected a finite number above 0"),
        (measuring(seconds="x"), "seconds='x': expected seconds above 0, at most 86400"),
        (measuring(seconds=86401), "seconds=86401: expected seconds above 0, at most 86400"),
        (measuring(memory="8G"), "memory='8G': expected a number of bytes above 0"),
        (measuring(type="fp8"), "type='fp8': expected one of 'fp16', 'bf16', 'tf32', 'all'"),
        (measuring(rehearse="no"), "rehearse='no': expected True or False"),
        (measuring(inputs=5), "inputs=5: expected a path or a dictionary of arrays, or several"),
        (loose(trtlint.measure, onnx.ModelProto()), "model=<ModelProto>: expected a path"),
        (loose(trtlint.measure, "folder"), "model='folder': expected a file, not a folder"),
        (
            loose(trtlint.check, "model.onnx", fail_on="zzz"),
            "fail_on='zzz': expected one of 'error', 'warning', 'note', 'never'",
        ),
        (
            loose(trtlint.check, "model.onnx", file="x"),
            "file='x': expected a file opened in text mode for writing",
        ),
        (loose(trtlint.fix, "folder"), "model='folder': expected a file, not a folder"),
        (loose(trtlint.fix, "model.onnx", out=5), "out=5: expected a path"),
        (loose(trtlint.fix, "model.onnx", unsafe="no"), "unsafe='no': expected True or False"),
        (
            loose(trtlint.fix, ["model.onnx"]),
            "model=<list>: expected a path, an onnx.ModelProto or an onnx_graphsurgeon.Graph",
        ),
        (loose(trtlint.upgrade, "folder", "10.6"), "model='folder': expected a file, not a folder"),
        (loose(trtlint.upgrade, ["model.onnx", "folder"], "10.6"), "model=<list>: expected one model"),
        (loose(trtlint.upgrade, "model.onnx", 10.6), "first=10.6: expected a version such as '8.6'"),
        (loose(trtlint.upgrade, "model.onnx", None), "first=None: expected a version such as '8.6'"),
        (loose(trtlint.upgrade, "model.onnx", "10.6", 10.8), "last=10.8: expected a version such as '10.7'"),
        (
            loose(trtlint.upgrade, "model.onnx", "10.6", product="x"),
            "product='x': expected one of 'tensorrt', 'tensorrt-rtx'",
        ),
        (
            loose(trtlint.lint, "a\0b"),
            "path='a\\x00b': expected a path; the given text is not a valid file name",
        ),
        (
            loose(trtlint.lint, [onnx.ModelProto(), onnx.ModelProto()]),
            "path[0]=<ModelProto>: expected a path",
        ),
        (
            loose(trtlint.lint, None),
            "path=None: expected a path, paths, an onnx.ModelProto, or the result of torch.onnx.export",
        ),
        (
            loose(trtlint.lint, b"model.onnx"),
            "path=b'model.onnx': expected a path, paths, an onnx.ModelProto, or the result of "
            "torch.onnx.export",
        ),
        (
            loose(trtlint.lint, io.BytesIO(b"model")),
            "path=<BytesIO>: expected a path, paths, an onnx.ModelProto, or the result of torch.onnx.export",
        ),
        (
            loose(trtlint.lint, []),
            "path is empty: expected a model, or a keyword with a file of a build (such as log=)",
        ),
        (
            loose(trtlint.find_facts, None),
            "model=None: expected a path, paths, an onnx.ModelProto, or the result of torch.onnx.export",
        ),
        (
            loose(trtlint.find_facts, "model.onnx", ["attention"]),
            "names=<list>: expected a string such as 'attention'; pass each kind of fact separately",
        ),
        (
            loose(trtlint.upgrade, "model.onnx", "8.6..10.7"),
            "first='8.6..10.7': expected one version such as '8.6'",
        ),
        (loose(trtlint.write_report, trtlint.Report(()), "json", 5), "file=5: expected a path"),
        (converting(to="fp8"), "to='fp8': expected one of 'fp16', 'bf16'"),
        (converting(to=None), "to=None: expected one of 'fp16', 'bf16'"),
        (loose(trtlint.convert, "model.onnx"), "to=None: expected one of 'fp16', 'bf16'"),
        (converting(io="half"), "io='half': expected one of 'fp32', 'fp16', 'bf16'"),
        (converting(keep=5), "keep=5: expected names of operators, or patterns such as '*norm*'"),
        (converting(keep=[5]), "keep[0]=5: expected names of operators, or patterns such as '*norm*'"),
        (converting(tolerance=0), "tolerance=0: expected a finite number above 0"),
        (converting(measure="no"), "measure='no': expected True or False"),
        (converting(verify_build=1), "verify_build=1: expected True or False"),
        (converting(dry_run=1), "dry_run=1: expected True or False"),
        (converting(inputs=5), "inputs=5: expected a path or a dictionary of arrays, or several"),
        (converting(memory="8G"), "memory='8G': expected a number of bytes above 0"),
        (converting(out=5), "out=5: expected a path"),
        (converting(fp61=True), "no keyword 'fp61'; did you mean 'fp16'?"),
        (
            loose(trtlint.convert, "folder", to="fp16"),
            "model='folder': expected a file, not a folder",
        ),
        (loose(trtlint.convert, 5, to="fp16"), "model=5: expected a path or an onnx.ModelProto"),
        (loose(trtlint.load_rules, 5), "paths[0]=5: expected a path"),
        (
            loose(trtlint.load_rules, ""),
            "paths[0]='': expected a path; the given text is not a valid file name",
        ),
        (loose(trtlint.read_build, 5), "paths=5: expected paths"),
        (
            loose(trtlint.read_build, [("build.log", "lgo")]),
            "paths[0]='lgo': expected a path, or a path with one of 'any', 'log', 'layers', 'profile'",
        ),
        (loose(trtlint.Target, version=10.7), "version=10.7: expected a text such as '10.7'"),
        (loose(trtlint.Target, gpu=89), "gpu=89: expected a text such as 'L4' or 'sm89'"),
        (loose(trtlint.Target, sm="89"), "sm='89': expected a compute capability times ten, such as 89"),
        (
            loose(trtlint.Target, asked="fp16"),
            "asked='fp16': expected a set of builder settings that are on, such as {'fp16'}",
        ),
        (
            loose(trtlint.Target, refused={16}),
            "refused=16: expected a set of builder settings that are off, such as {'tf32'}",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(call: Callable[[], object], words: str) -> None:
    with pytest.raises(trtlint.ArgumentError) as caught:
        call()
    assert str(caught.value) == words
    assert isinstance(caught.value, trtlint.SettingError)


class _BadPath:
    def __fspath__(self) -> Any:
        return 3


@pytest.mark.parametrize("call", [trtlint.lint, trtlint.fix, trtlint.measure, trtlint.find_facts])
def test_a_path_object_without_a_path(call: Callable[..., object]) -> None:
    with pytest.raises(trtlint.ArgumentError, match=r"=<_BadPath>: expected "):
        call(_BadPath())


@pytest.mark.parametrize("function", [trtlint.lint, trtlint.check, trtlint.fix, trtlint.measure])
@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_a_name_that_no_file_can_have(function: Callable[..., object], name: str) -> None:
    with pytest.raises(trtlint.ArgumentError, match="the given text is not a valid file name"):
        function(name)


def test_one_text_to_keep_is_a_name_and_not_letters() -> None:
    with pytest.raises(trtlint.SettingError, match="--keep nowhere"):
        trtlint.convert("model.onnx", to="fp16", keep="nowhere", measure=False, dry_run=True)


def test_a_long_value_is_shortened_to_one_line() -> None:
    with pytest.raises(trtlint.ArgumentError) as caught:
        trtlint.lint("model.onnx", command="x", min_confidence="a\n" * 1000)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_nothing_is_done_before_the_arguments_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.measurement.measure.measure", lambda *_: pytest.fail("it was measured"))
    with pytest.raises(trtlint.ArgumentError):
        trtlint.measure("model.onnx", fp16="yes")  # type: ignore[arg-type]


def test_none_is_what_was_not_given() -> None:
    keywords = dict.fromkeys(Keywords.__annotations__)
    assert trtlint.lint("model.onnx", None, **keywords) == trtlint.lint("model.onnx")  # type: ignore[arg-type]


def test_every_argument_has_a_reader_and_every_reader_an_argument() -> None:
    own = {
        name
        for function in FUNCTIONS
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
    assert {*Keywords.__annotations__, *own} - OTHERS == set(ARGUMENTS) - {"paths"}


def test_what_decides_a_verdict_on_the_command_line_is_a_keyword() -> None:
    lint = cli.commands["lint"]
    options = {str(option.name) for option in lint.params} - {"paths"}
    renamed = {"build": "command"}
    keywords = {*Keywords.__annotations__, *inspect.signature(api.check).parameters}
    assert options >= NO_KEYWORDS
    assert {renamed.get(name, name) for name in options - NO_KEYWORDS} <= keywords


def test_values_are_given_in_the_form_that_functions_use() -> None:
    given = {
        "trt": "10.7", "plugins": "A, B", "shapes": "x:1x3,y:4", "compare": True, "batches": np.int64(3),
        "bound": np.float32(0.5), "inputs": Path("a.npz"), "log": Path("build.log"), "fp16": None,
    }  # fmt: skip
    assert read(given) == {
        "trt": ("10.7",), "plugins": ("A", "B"), "shapes": (("x", (1, 3)), ("y", (4,))), "compare": ("",),
        "batches": 3, "bound": 0.5, "inputs": ("a.npz",), "log": "build.log",
    }  # fmt: skip
    assert read({"shapes": {"x": [2, 3]}, "compare": False, "inputs": ["a", Path("b")]}) == {
        "shapes": (("x", (2, 3)),), "compare": (), "inputs": ("a", "b"),
    }  # fmt: skip
    assert read_one("paths", "build.log") == (("build.log", "any"),)
    assert read_one("paths", [Path("a"), ("b", "log")]) == (("a", "any"), ("b", "log"))


def test_plugins_in_one_text_are_names_and_not_letters() -> None:
    (report,) = trtlint.lint("model.onnx", trt="10.7", plugins="Foo,Bar").models
    assert "Foo" in report.target or report.target == "TensorRT 10.7"
    assert read_one("plugins", "Foo,Bar") == ("Foo", "Bar")


def jobs(**keywords: Any) -> list[DryJob]:
    """Return the dry builds that keywords request."""
    from trtlint.cases import cases

    (given,) = cases("model.onnx", None, keywords)
    return [each for each in given.case.evidence if isinstance(each, DryJob)]


@NEEDS_WHEELS
def test_dry_builds_are_asked_for_as_on_the_command_line() -> None:
    assert [job.level for job in jobs(dry_build=True)] == ["build"]
    assert [job.level for job in jobs(dry_build="parse")] == ["parse"]
    assert [job.level for job in jobs(dry_parse=True, dry_build=True)] == ["parse"]
    assert jobs(dry_build=False, dry_parse=False, compare=False) == []
    (job,) = jobs(
        compare="probe",
        command="trtexec --onnx=model.onnx --minShapes=z:1 --optShapes=z:2 --maxShapes=z:3",
        shapes={"x": (1, 8)},
        dry_build_seconds=7,
        dry_build_memory=1 << 30,
        dry_build_logs="logs",
    )
    assert (job.level, job.limits.seconds, job.limits.memory, job.logs) == ("parse", 7, 1 << 30, Path("logs"))
    assert [(each.name, each.shapes) for each in job.shapes] == [
        ("z", ((1,), (2,), (3,))),
        ("x", ((1, 8), (1, 8), (1, 8))),
    ]
    assert job.compare is not None
    assert (job.compare.probe, job.compare.shapes) == (True, (("z", (2,)), ("x", (1, 8))))
    assert [job.level for job in jobs(compare=True, dry_build=True)] == ["build"]
    with pytest.raises(trtlint.ExperimentError, match=r"0\.1\.2"):
        jobs(dry_build="0.1.2")
    with pytest.raises(trtlint.SettingError, match=r"no\.npz"):
        jobs(compare=["no.npz"])


@NEEDS_WHEELS
def test_a_comparison_is_evidence_of_the_report() -> None:
    pytest.importorskip("onnxruntime")
    (compared,) = trtlint.lint("model.onnx", compare=True).models
    (parsed,) = trtlint.lint("model.onnx", dry_parse=True).models
    assert [note.partition(",")[0] for note in compared.notes] == ["dry parse", "comparison with ONNX"]
    assert compared.notes[:1] == parsed.notes


@pytest.mark.parametrize("word", ["dry_build", "dry_parse", "compare"])
def test_a_dry_build_needs_a_model_in_a_file_and_no_build(word: str) -> None:
    with pytest.raises(trtlint.SettingError, match=f"{word} needs a file"):
        trtlint.lint(onnx.load("model.onnx"), **{word: True})  # type: ignore[arg-type]
    with pytest.raises(trtlint.SettingError, match=r"build\.log describes a real build"):
        trtlint.lint("model.onnx", log="build.log", **{word: True})  # type: ignore[arg-type]


def test_a_rule_in_preview_is_selected_besides_the_others() -> None:
    from trtlint.cases import cases

    def chosen(**keywords: Any) -> set[str]:
        (given,) = cases("model.onnx", None, keywords)
        return {entry.id for entry in given.case.rules}

    preview = min(chosen(preview=True) - chosen())
    assert chosen(extend_select=preview) == chosen() | {preview}


def test_one_path_is_enough_for_inputs_and_builds() -> None:
    np.savez("x.npz", x=np.ones((1, 8), np.float32))
    found = trtlint.measure("model.onnx", inputs="x.npz", rehearse=False)
    assert found.measurement.files == ("x.npz",)
    Path("build.log").write_text("[I] TensorRT version: 10.7.0\n", encoding="utf-8")
    assert trtlint.read_build("build.log").files == ("build.log",)


def test_check_prints_to_any_stream() -> None:
    out = io.StringIO()
    trtlint.check("model.onnx", file=out)
    assert out.getvalue()


MOST = (1 << 63) - 1


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("fp16", True, True),
        ("fp16", False, False),
        ("fp16", np.bool_(True), True),
        ("gpu", "L4,T4", "L4,T4"),
        ("type", "tf32", "tf32"),
        ("bound", 1, 1.0),
        ("bound", np.float32(0.5), 0.5),
        ("bound", 5e-324, 5e-324),
        ("bound", 1e308, 1e308),
        ("seconds", 86400, 86400.0),
        ("batches", 1, 1),
        ("batches", np.int64(3), 3),
        ("batches", MOST, MOST),
        ("memory", 1 << 50, 1 << 50),
        ("log", Path("build.log"), "build.log"),
        ("inputs", "a.npz", ("a.npz",)),
        ("inputs", Path("a.npz"), ("a.npz",)),
        ("inputs", ["a.npz", Path("b.npz")], ("a.npz", "b.npz")),
        ("trt", "10.7", ("10.7",)),
        ("trt", iter(["10.7", "10.8"]), ("10.7", "10.8")),
        ("plugins", " a, b,,c ", ("a", "b", "c")),
        ("plugins", ["a,b", "c"], ("a", "b", "c")),
        ("plugins", "", ()),
        ("rules", [], ()),
        ("command", "trtexec --fp16", "trtexec --fp16"),
        ("command", Path("build.sh"), "build.sh"),
        ("ranges", Path("r.json"), "r.json"),
        ("dry_build", True, True),
        ("dry_build", False, False),
        ("dry_build", "parse", "parse"),
        ("dry_build", "build", "build"),
        ("dry_build", "1.7", "1.7"),
        ("dry_build", "1.7.1", "1.7.1"),
        ("compare", True, ("",)),
        ("compare", False, ()),
        ("compare", "probe", ("probe",)),
        ("compare", ["a.npz", Path("folder")], ("a.npz", "folder")),
        ("options", {"a": 1}, {"a": 1}),
        ("options", {}, {}),
        ("shapes", "x:1x3", (("x", (1, 3)),)),
        ("shapes", "x:1x3,y:2", (("x", (1, 3)), ("y", (2,)))),
        ("shapes", ["x:1", "y:2"], (("x", (1,)), ("y", (2,)))),
        ("shapes", {"x": [np.int64(1), 0], "y": ()}, (("x", (1, 0)), ("y", ()))),
        ("shapes", {"x": (MOST,)}, (("x", (MOST,)),)),
        ("target", trtlint.Target(version="10.7"), (trtlint.Target(version="10.7"),)),
        ("target", [trtlint.Target(), trtlint.Target(sm=89)], (trtlint.Target(), trtlint.Target(sm=89))),
        ("paths", "a.log", (("a.log", "any"),)),
        ("paths", Path("a.log"), (("a.log", "any"),)),
        ("paths", ["a", ("b", "log"), ("c", "any")], (("a", "any"), ("b", "log"), ("c", "any"))),
        ("paths", [], ()),
    ],
)
def test_a_value_is_converted(name: str, value: object, expected: object) -> None:
    found = read_one(name, value)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("bound", 0, "bound=0: expected a finite number above 0"),
        ("bound", -0.5, "bound=-0.5: expected a finite number above 0"),
        ("bound", float("inf"), "bound=inf: expected a finite number above 0"),
        ("bound", True, "bound=True: expected a finite number above 0"),
        ("bound", 1j, "bound=<complex>: expected a finite number above 0"),
        ("seconds", 86400.5, "seconds=86400.5: expected seconds above 0, at most 86400"),
        ("batches", MOST + 1, "batches=<int>: expected a whole number above 0"),
        ("batches", 1.0, "batches=1.0: expected a whole number above 0"),
        ("memory", (1 << 50) + 1, f"memory={(1 << 50) + 1}: expected a number of bytes above 0"),
        ("memory", 0, "memory=0: expected a number of bytes above 0"),
        ("inputs", bytearray(b"a"),
         "inputs=<bytearray>: expected a path or a dictionary of arrays, or several"),
        ("inputs", [],
         "inputs is empty: expected a path or a dictionary of arrays; omit inputs for generated inputs"),
        ("inputs", io.BytesIO(b"a"),
         "inputs=<BytesIO>: expected a path or a dictionary of arrays, or several"),
        ("file", io.BytesIO(), "file=<BytesIO>: expected a file opened in text mode for writing"),
        ("inputs", ["a", 5], "inputs[1]=5: expected a path or a dictionary of arrays"),
        ("inputs", "",
         "inputs='': expected a path or a dictionary of arrays; the given text is not a valid file name"),
        ("rules", ["a"], "rules[0]='a': expected rules that trtlint.load_rules returned"),
        ("rules", Path("a"), "rules=<PosixPath>: expected rules that trtlint.load_rules returned"),
        ("rules", 5, "rules=5: expected rules that trtlint.load_rules returned"),
        ("dry_build", "1", "dry_build='1': expected True, False, 'parse', 'build', or a release of "
         "TensorRT-RTX such as '1.7.1'"),
        ("dry_build", 1, "dry_build=1: expected True, False, 'parse', 'build', or a release of "
         "TensorRT-RTX such as '1.7.1'"),
        ("options", {"a": 1, 2: 3}, "options=<dict>: expected options by name, such as "
         "{'trt_min_subgraph_size': 5}"),
        ("options", "a=1", "options='a=1': expected options by name, such as {'trt_min_subgraph_size': 5}"),
        ("shapes", {1: (1,)}, "shapes=1: expected shapes such as 'x:1x3x224x224' or {'x': (1, 3, 224, 224)}"),
        ("shapes", {"x": (1, MOST + 1)}, "shapes['x']=<int>: expected sizes such as (1, 3, 224, 224)"),
        ("shapes", {"x": (True,)}, "shapes['x']=True: expected sizes such as (1, 3, 224, 224)"),
        ("shapes", {"x": 3}, "shapes['x']=3: expected sizes such as (1, 3, 224, 224)"),
        ("shapes", ["x:1", ""],
         "shapes='': expected shapes such as 'x:1x3x224x224' or {'x': (1, 3, 224, 224)}"),
        ("shapes", "1x3", "shapes='1x3': expected shapes such as 'x:1x3x224x224' or {'x': (1, 3, 224, 224)}"),
        ("target", 5, "target=5: expected a trtlint.Target, or several"),
        ("target", [trtlint.Target(), 5], "target[1]=5: expected a trtlint.Target, or several"),
        ("file", None, "file=None: expected a file opened in text mode for writing"),
        ("paths", ["a", ("b", 5)],
         "paths[1]=5: expected a path, or a path with one of 'any', 'log', 'layers', 'profile'"),
        ("paths", [("b", "log", "c")], "paths[0]=<tuple>: expected a path, or a path with one of 'any', "
         "'log', 'layers', 'profile'"),
        ("paths", {"a": 1}, "paths=<dict>: expected paths"),
        ("paths", b"a", "paths=b'a': expected paths"),
    ],
)  # fmt: skip
def test_values_beyond_the_allowed_ones(name: str, value: object, words: str) -> None:
    with pytest.raises(trtlint.ArgumentError) as caught:
        read_one(name, value)
    assert str(caught.value) == words


def test_names_of_arguments() -> None:
    assert read({"fp16": True, "trt": None, "gpu": "L4"}) == {"fp16": True, "gpu": "L4"}
    assert read({"fp16": True}, iter(["trt", "fp16"])) == {"fp16": True}
    with pytest.raises(trtlint.ArgumentError) as caught:
        read({"fp16": True, "gpu": "L4"}, ["fp16"])
    assert str(caught.value) == "no keyword 'gpu'"


def test_files() -> None:
    assert read_file("model", Path("model.onnx")) == "model.onnx"
    assert read_file("model", "none.onnx") == "none.onnx"
    assert read_local("model", "none.onnx") == Path("none.onnx")
    assert read_paths("path", ["a", Path("b")]) == ("a", "b")
    with pytest.raises(trtlint.SettingError) as caught:
        read_local("model", "https://example.org/m.onnx?token=1")
    words = "https://example.org/m.onnx: the model must be a local file; download it first"
    assert str(caught.value) == words
