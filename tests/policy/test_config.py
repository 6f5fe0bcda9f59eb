"""Tests of configuration: search, allowed settings and precedence."""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from tests.workspace import Workspace
from trtlint.errors import SettingError
from trtlint.knowledge.releases import Product
from trtlint.policy import schema
from trtlint.policy.config import Configurations, load, overlay, relative
from trtlint.policy.options import INSTALLED, DryOptions, LintOptions, TargetOptions
from trtlint.policy.targets import by_version
from trtlint.target.target import Target


def test_the_nearest_one_counts(work: Workspace) -> None:
    work.toml("trtlint.toml", 'fail-on = "note"')
    work.toml("models/pyproject.toml", "[tool.other]\nfail-on = 3")
    found = Configurations()
    assert found.of(work.path / "models" / "a.onnx").file == work.path / "trtlint.toml"
    work.toml("models/deep/pyproject.toml", '[tool.trtlint]\nfail-on = "never"')
    assert found.of(work.path / "models" / "deep" / "a.onnx").general.fail_on == "never"
    work.toml("models/deep/trtlint.toml", 'fail-on = "warning"')
    assert Configurations().of(work.path / "models" / "deep" / "a.onnx").general.fail_on == "warning"


def test_found_from_the_model_not_from_the_current_folder(work: Workspace) -> None:
    work.toml("trtlint.toml", 'ignore = ["XYZ901"]')
    elsewhere = work.path.parent / "elsewhere"
    elsewhere.mkdir()
    outside = elsewhere / "a.onnx"
    outside.write_bytes((work.path / "models" / "a.onnx").read_bytes())
    assert work.ids("models/a.onnx") == ["XYZ902"]
    assert work.ids(str(outside)) == ["XYZ901", "XYZ902"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'build = "trtexec --fp16"',
            "trtlint.toml: build: no such key; use the option --build for the build command",
        ),
        (
            '[[suppress]]\nrule = "XYZ901"\nreason = "r"\nbaseline = "b.json"',
            "suppress[0].baseline: no such key; baseline is a key of the whole file, so move it above",
        ),
        (
            '[[models]]\npath = "*"\nbaseline = "b.json"',
            "models[0].baseline: no such key; baseline is a key of the whole file, so move it above",
        ),
        ('[target]\ntrt = "10.7"\nfail-on = "note"', "target.fail-on: no such key; fail-on is a key of the"),
        (
            '[tool.trtlint]\nselect = ["XYZ"]',
            "trtlint.toml: tool: no such key; [tool.trtlint] is for pyproject.toml; write the keys",
        ),
        ('selct = ["XYZ"]', "trtlint.toml: selct: no such key; did you mean 'select'?"),
        ("select = 3", "trtlint.toml: select: must be a list"),
        (
            'select = ["XYZ9O1"]',
            "trtlint.toml: select: no rule has the id, id prefix, name or group 'XYZ9O1'; did",
        ),
        ('ignore = ["house-rely"]', "trtlint.toml: ignore: no rule has"),
        ('extend_select = ["XYZ901"]', "extend_select: no such key; did you mean 'extend-select'?"),
        (
            'fail-on = "eror"',
            "fail-on: 'eror' is not one of error, warning, note, never; did you mean 'error'?",
        ),
        ('min-confidence = "hi"', "min-confidence: 'hi' is not one of"),
        ("[severity]\nXYZ905 = 'note'", "trtlint.toml: severity: no rule has the id"),
        ("[severity]\nXYZ901 = 'nope'", "severity.XYZ901: 'nope' is not one of error, warning, note"),
        ("[target]\ntrt = 10.7", 'target.trt: must be text or a list: write "10.7"'),
        ("[target]\ntrt = '10.70'", "trtlint.toml: target: TensorRT 10.70 does not exist"),
        ("[target]\ngpu = 'L44'", "trtlint.toml: target: unknown GPU 'L44'; nearest: L4"),
        ("[target]\nfp61 = true", "target.fp61: no such key; did you mean 'fp16'?"),
        ("[target]\nfp16 = 'yes'", "target.fp16: must be true or false"),
        ("[[models]]\nignore = ['XYZ']", "models[0]: the key 'path' is missing"),
        ("[[models]]\npath = 'no/*.onnx'\nignore = ['NO']", "trtlint.toml: models[0].ignore: no rule has"),
        ("[[models]]\npath = ['']", "models[0].path[0]: is empty"),
        ("[[suppress]]\nrule = 'XYZ901'", "suppress[0]: the key 'reason' is missing"),
        ("[[suppress]]\nrule = 'XYZ999'\nreason = 'r'", "trtlint.toml: suppress[0].rule: no rule has"),
        ("[[suppress]]\nrule = 'XYZ901'\nreason = ''", "suppress[0].reason: is empty"),
        ("[[suppress]]\nrule='X'\nreason='r'\nexpires='soon'", "suppress[0].expires: 'soon' is not a date"),
        ("a = ", "trtlint.toml: not TOML: "),
        (
            "baseline = 'missing.json'",
            "trtlint.toml: baseline: missing.json: no such baseline; create it with",
        ),
        ("rules = ['missing']", "trtlint.toml: rules: missing: no such file or folder"),
    ],
)
def test_what_is_wrong_is_named_with_file_key_and_the_nearest_word(
    work: Workspace, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    work.toml("trtlint.toml", text)
    assert work.run("models/a.onnx") == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_an_unknown_key_in_pyproject_is_named_with_its_table(
    work: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    work.toml("pyproject.toml", "[tool.trtlint.target]\nTRT = '10.7'")
    assert work.run("models/a.onnx") == 2
    error = capsys.readouterr().err
    assert error.startswith(
        "trtlint: pyproject.toml: tool.trtlint.target.TRT: no such key; did you mean 'trt'?"
    )


def test_every_setting_reaches_the_run(work: Workspace) -> None:
    work.toml(
        "pyproject.toml",
        """
        [tool.trtlint]
        target = {trt = "10.7", gpu = "L4", fp16 = true}
        severity = {XYZ = "note", house-sin = "error"}
        fail-on = "note"
        plugins = ["A", "B"]
        rules = ["more"]
        """,
    )
    work.rule("more", "XYZ904", "house-abs", op="Abs")
    (model,) = work.report("models/a.onnx")["models"]
    assert model["target"].startswith("TensorRT 10.7, SM 8.9 (L4), FP16")
    assert {f["rule"]: f["severity"] for f in model["findings"]} == {"XYZ901": "note", "XYZ902": "error"}
    assert [f["rule"] for f in model["findings"]] == ["XYZ902", "XYZ901"]
    assert work.run("models/b.onnx") == 1
    assert "XYZ904" in work.out
    assert 'plugins = ["A", "B"]' in work.settings("models/a.onnx")


def test_a_section_speaks_for_its_models_only_and_later_ones_win(work: Workspace) -> None:
    work.toml(
        "trtlint.toml",
        """
        target = [{trt = "10.6"}, {rtx = "1.4"}]
        ignore = ["XYZ902"]
        fail-on = "never"

        [[models]]
        path = "models/*.onnx"
        target = {trt = "10.7", gpu = "L4"}
        extend-select = ["house-sin"]
        fail-on = "error"

        [[models]]
        path = ["a.onnx", "z/**"]
        ignore = ["XYZ901"]
        fail-on = "warning"
        """,
    )
    work.copy("models/a.onnx", "other/b.onnx")
    work.copy("models/a.onnx", "models/b.onnx")
    targets = [model["target"] for model in work.report("other/b.onnx")["models"]]
    assert targets == ["TensorRT 10.6", "TensorRT-RTX 1.4"]
    assert work.ids("other/b.onnx") == ["XYZ901", "XYZ901"]
    assert work.code == 0
    assert work.ids("models/b.onnx") == ["XYZ901", "XYZ902"]
    assert work.code == 1
    assert work.ids("models/a.onnx") == ["XYZ902"]
    assert work.code == 1


def test_the_command_line_has_the_last_word(work: Workspace) -> None:
    work.toml(
        "trtlint.toml",
        """
        target = {rtx = "1.4", gpu = "L4", fp16 = true, tf32 = false}
        select = ["XYZ901"]
        fail-on = "never"
        min-confidence = "confirmed"
        """,
    )
    assert work.ids("models/a.onnx") == []
    assert work.ids("models/a.onnx", "--min-confidence", "low") == ["XYZ901"]
    assert work.code == 0
    assert work.ids("models/a.onnx", "--min-confidence", "low", "--fail-on", "error") == ["XYZ901"]
    assert work.code == 1
    low = ("--min-confidence", "low")
    assert work.ids("models/a.onnx", *low, "--extend-select", "house-sin") == ["XYZ901", "XYZ902"]
    assert work.ids("models/a.onnx", *low, "--select", "XYZ902") == ["XYZ902"]
    assert work.ids("models/a.onnx", *low, "--ignore", "XYZ") == []
    (model,) = work.report("models/a.onnx", "--trt", "10.7", "--no-fp16")["models"]
    assert model["target"] == "TensorRT 10.7, SM 8.9 (L4), no FP16, no TF32"


def test_isolated_and_config(work: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    work.toml("trtlint.toml", 'select = ["XYZ901"]')
    work.toml(
        "ci/strict.toml",
        'select = ["XYZ902"]\nsuppress = [{rule = "XYZ", path = "../models/", reason = "r"}]',
    )
    assert work.ids("models/a.onnx", "--isolated") == ["XYZ901", "XYZ902"]
    assert work.ids("models/a.onnx", "--config", "ci/strict.toml") == []
    assert [f["rule"] for f in work.model("models/a.onnx", "--config", "ci/strict.toml")["suppressed"]] == [
        "XYZ902"
    ]
    assert work.run("models/a.onnx", "--config", "ci/none.toml") == 2
    assert "ci/none.toml: No such file" in capsys.readouterr().err
    work.toml("ci/pyproject.toml", "[tool.other]")
    assert work.run("models/a.onnx", "--config", "ci/pyproject.toml") == 2
    assert "ci/pyproject.toml: the table [tool.trtlint] is missing" in capsys.readouterr().err


def test_show_settings_lints_nothing_and_is_toml(work: Workspace) -> None:
    work.toml(
        "trtlint.toml",
        """
        ignore = ["XYZ902"]
        severity = {XYZ901 = "note"}
        [[suppress]]
        rule = "XYZ901"
        node = "/blocks.?/Relu"
        reason = 'measured: "fine"'
        expires = 2099-12-31
        """,
    )
    text = work.settings("models/a.onnx", "models/b.onnx", "--trt", "10.7")
    assert "# models/a.onnx\n# models/b.onnx\n# configuration: trtlint.toml\n" in text
    if sys.version_info >= (3, 11):
        import tomllib

        shown = tomllib.loads(text)
        assert shown["targets"] == ["TensorRT 10.7"]
        assert "XYZ901" in shown["run"]
        assert "XYZ902" not in shown["run"]
        assert shown["severity"] == {"XYZ901": "note"}
        assert shown["suppress"] == [
            {
                "rule": ["XYZ901"],
                "node": "/blocks.?/Relu",
                "reason": 'measured: "fine"',
                "expires": date(2099, 12, 31),
            }
        ]


def test_dates_may_be_toml_dates_or_text(work: Workspace) -> None:
    entry = "[[suppress]]\nrule = 'XYZ901'\nreason = 'r'\nexpires = "
    for text in ("2030-01-31", "'2030-01-31'"):
        (found,) = load(work.toml("trtlint.toml", entry + text)).suppress
        assert found.suppression.expires == "2030-01-31"


WORDS = st.sampled_from(["", "XYZ901", "error", "10.7", "2030-02-31", "2030-02-28", "soon", "low"])
SCALARS = WORDS | st.booleans() | st.integers(0, 3)


def _tables(keys: list[str]) -> Any:
    return st.deferred(
        lambda: st.dictionaries(st.sampled_from(keys), SCALARS | st.lists(SCALARS, max_size=2), max_size=4)
    )


TARGETS = _tables(["trt", "rtx", "gpu", "fp16", "fp61"])
SUPPRESSIONS = st.builds(
    dict.__or__, st.just({"rule": "X", "reason": "r"}), _tables(["rule", "expires", "node"])
)
MODELS = st.builds(dict.__or__, st.just({"path": "*"}), _tables(["path", "select", "fail-on", "rules"]))
DOCUMENTS = st.builds(
    dict.__or__,
    _tables(["select", "fail-on", "min-confidence", "baseline", "rules", "what"]),
    st.fixed_dictionaries(
        {},
        optional={
            "target": TARGETS | st.lists(TARGETS, max_size=2) | SCALARS,
            "severity": _tables(["XYZ901", "ACC"]),
            "models": st.lists(MODELS, max_size=2),
            "suppress": st.lists(SUPPRESSIONS | SCALARS, max_size=2),
        },
    ),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(document=DOCUMENTS)
def test_the_check_is_what_the_schema_says(document: dict[str, Any]) -> None:
    validator = jsonschema.Draft202012Validator(
        schema.configuration(), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    try:
        schema.check(document)
        accepted = True
    except schema.SchemaError:
        accepted = False
    assert accepted == validator.is_valid(json.loads(json.dumps(document)))


def test_the_schema_is_one_and_says_what_every_key_is_for() -> None:
    loaded = schema.configuration()
    jsonschema.Draft202012Validator.check_schema(loaded)
    tables = {"": loaded, **loaded["$defs"]}
    for name, table in tables.items():
        for key, value in table.get("properties", {}).items():
            described = value if "description" in value else loaded["$defs"].get(value["$ref"][8:], {})
            shared = key in loaded["properties"]
            assert "description" in described or shared, (name, key)


def test_a_model_has_a_build_of_its_own(work: Workspace) -> None:
    work.toml(
        "logs/a.log",
        "&&&& RUNNING TensorRT.trtexec [TensorRT v100700] [b23] # trtexec --onnx=a.onnx --fp16\n",
    )
    work.toml("trtlint.toml", "[[models]]\npath = 'a.onnx'\nlog = 'logs/a.log'")
    targets = {Path(model["path"]).name: model["target"] for model in work.report("models")["models"]}
    assert targets["a.onnx"].startswith("TensorRT 10.7")
    assert "FP16" in targets["a.onnx"]
    assert targets["b.onnx"] == "TensorRT (any version)"
    work.toml("trtlint.toml", "[[models]]\npath = 'a.onnx'\nlog = 'logs/none.log'")
    assert work.run("models") == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 16 + "]" * 16, "a: no such key"),
        ("a = " + "[" * 17 + "]" * 17, "nested more than 16 levels deep"),
        ("[" + ".".join("a" * 16) + "]", "a: no such key"),
        ("[" + ".".join("a" * 17) + "]", "nested more than 16 levels deep"),
        ('rules = ["\\u0000"]', "a string contains a NUL character"),
        ("# " + "x" * (1 << 20), "longer than 1 MiB"),
        ("[target]\ntrt = true", "target.trt: must be text or a list$"),
        ("[target]\ntrt = 10", 'target.trt: must be text or a list: write "10"$'),
        ("[target]\ngpu = ''", "target.gpu: is empty"),
    ],
    ids=lambda text: text[:20],
)
def test_a_configuration_has_limits(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "trtlint.toml"
    file.write_text(text)
    with pytest.raises(SettingError, match=said):
        load(file)


def test_a_configuration_of_a_mebibyte_is_read(tmp_path: Path) -> None:
    file = tmp_path / "trtlint.toml"
    file.write_text("preview = true\n".ljust(1 << 20, "#"))
    assert load(file).preview


def test_preview_rules_run_only_on_request(tmp_path: Path) -> None:
    file = tmp_path / "trtlint.toml"
    file.write_text("")
    assert not load(file).preview


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", DryOptions()),
        ("dry-build = false", DryOptions("off")),
        ("dry-build = true", DryOptions("build", INSTALLED)),
        ("dry-build = 'parse'", DryOptions("parse", INSTALLED)),
        ("dry-build = '1.3'", DryOptions("build", "1.3")),
        ("compare = false", DryOptions(compare=())),
        ("compare = true", DryOptions("parse", INSTALLED, compare=("",))),
        ("compare = 'probe'", DryOptions("parse", INSTALLED, compare=("probe",))),
        ("compare = ['a.npz', 'probe']", DryOptions("parse", INSTALLED, compare=("a.npz", "probe"))),
        ("dry-build = false\ncompare = true", DryOptions("off", compare=("",))),
        ("dry-build = '1.3'\ncompare = true", DryOptions("build", "1.3", compare=("",))),
        ("shapes = 'x:1x3'", DryOptions(shapes=(("x", (1, 3)),))),
    ],
)
def test_dry_builds_of_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: DryOptions
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trtlint.toml").write_text(text)
    assert load(Path("trtlint.toml")).general.dry == expected


def test_a_file_called_dash_is_not_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trtlint.toml").write_text(
        "compare = '-'\n[[models]]\npath = 'm.onnx'\nlog = '-'\nlayers = 'l.json'"
    )
    found = load(Path("trtlint.toml"))
    assert found.general.dry.compare == ("./-",)
    assert found.sections[0].choices.build_files == {"log": "./-", "layers": "l.json"}


def test_a_path_on_another_drive_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert relative(tmp_path / "a" / "m.onnx", tmp_path / "b") == "../a/m.onnx"

    def fail(*_paths: object) -> str:
        raise ValueError("path is on mount 'C:', start on mount 'D:'")

    monkeypatch.setattr("os.path.relpath", fail)
    assert relative(tmp_path / "m.onnx", tmp_path) == (tmp_path / "m.onnx").as_posix()


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        (TargetOptions(), TargetOptions(("10.7",), ("1.2",), "L4", (("fp16", True), ("int8", True)), ("A",))),
        (
            TargetOptions(rtx=("1.3",), gpu="T4", flags=(("fp16", False),), plugins=()),
            TargetOptions((), ("1.3",), "T4", (("fp16", False), ("int8", True)), ()),
        ),
        (
            TargetOptions(trt=("11.0",)),
            TargetOptions(("11.0",), (), "L4", (("fp16", True), ("int8", True)), ("A",)),
        ),
    ],
)
def test_the_command_line_covers_a_target(over: TargetOptions, expected: TargetOptions) -> None:
    base = TargetOptions(("10.7",), ("1.2",), "L4", (("fp16", True), ("int8", True)), ("A",))
    assert overlay(base, over) == expected


def test_a_target_as_options_of_a_command_line() -> None:
    options = TargetOptions(("10.7", "11.0"), ("1.2",), "L4", (("fp16", True), ("int8", False)), ("A", "B"))
    expected = "--trt 10.7 --trt 11.0 --rtx 1.2 --gpu L4 --fp16 --no-int8 --plugins A,B"
    assert options.arguments == tuple(expected.split())
    assert TargetOptions().arguments == ()


def test_nothing_happens_that_no_option_asks_for() -> None:
    options = LintOptions(("m.onnx",), TargetOptions())
    switches = {name: value for name, value in asdict(options).items() if isinstance(value, bool)}
    assert {name for name, value in switches.items() if value} == {"cache"}
    assert (options.jobs, options.torch.trust_pickle) == (1, False)
    assert options.target.arguments == ()


def test_a_byte_order_mark_is_skipped(work: Workspace) -> None:
    """Editors on Windows can write one."""
    file = work.path / "trtlint.toml"
    file.write_text('fail-on = "note"\n')
    plain = load(file)
    file.write_text('fail-on = "note"\n', "utf-8-sig")
    assert load(file) == plain


def test_the_oldest_version_of_the_configuration_comes_first() -> None:
    versions: list[tuple[Product, str | None]]
    versions = [("tensorrt-rtx", "1.4"), ("tensorrt", "10.10"), ("tensorrt", "10.7"), ("tensorrt", None)]
    found = by_version(Target(product=product, version=version) for product, version in versions)
    assert [each.version for each in found] == [None, "10.7", "10.10", "1.4"]


def test_the_targets_of_a_list_are_sorted(work: Workspace) -> None:
    work.toml("trtlint.toml", "target = [{trt = '10.8'}, {trt = '10.7'}]")
    work.run("models/a.onnx", "--show-settings")
    assert '"TensorRT 10.7", "TensorRT 10.8"' in work.out
