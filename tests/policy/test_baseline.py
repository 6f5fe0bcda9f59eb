"""Baselines: what is known stays known whatever a re-export does, and what is new is new."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.conftest import REPOSITORY
from tests.engine.disguise import renamed, reordered
from tests.sampling import EVERY
from tests.workspace import Workspace
from trtlint.engine.finding import Finding, ModelReport, Site
from trtlint.engine.fingerprint import Fingerprints
from trtlint.engine.rulebook import Rulebook, load_builtin
from trtlint.model.load import load
from trtlint.policy.baseline import Baseline
from trtlint.runs.linting import lint_file
from trtlint.target.target import Target

TARGETS = (Target(version="10.7", gpu="L4", asked=frozenset({"fp16"})), Target(product="tensorrt-rtx"))
IDS = frozenset({"ACC102", "ACC103"})

FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def finding(rule: str, *sites: tuple[str, str | None, str]) -> Finding:
    """A finding at sites given as fingerprint, module and node."""
    return Finding(
        rule=rule,
        name=rule.lower(),
        severity="error",
        confidence="high",
        evidence_level="documented",
        message="m",
        sites=tuple(Site(node, "Op", module, None, (), fingerprint) for fingerprint, module, node in sites),
        applies="",
        advice=(),
        references=(),
        fingerprint="f",
    )


def report(*findings: Finding, conditional: tuple[Finding, ...] = ()) -> ModelReport:
    return ModelReport("m.onnx", "t", findings=findings, conditional=conditional)


BLOCKS = tuple((f"fp{i}", f"blocks.{i}", f"n{i}") for i in range(4))
KNOWN = finding("ACC102", *BLOCKS)


def recorded(folder: Path, *findings: Finding) -> Baseline:
    """A baseline of one model, written and read back."""
    baseline = Baseline(folder / "baseline.json")
    (folder / "m.onnx").touch()
    baseline.record(folder / "m.onnx", [report(*findings)])
    baseline.write()
    return Baseline.read(baseline.file)


def applied(baseline: Baseline, *reports: ModelReport, ran: frozenset[str] = IDS) -> tuple[ModelReport, ...]:
    return baseline.apply(baseline.file.parent / "m.onnx", reports, ran, IDS)


def test_one_entry_a_line_sorted_and_relative_to_the_file(tmp_path: Path) -> None:
    baseline = Baseline(tmp_path / "ci" / "baseline.json")
    baseline.file.parent.mkdir()
    for model in ("z.onnx", "a/b.onnx"):
        found = finding("ACC103", ("2", None, "n"), ("1", "m", "n")), finding("ACC102", ("9", "ä", "n"))
        baseline.record(tmp_path / "models" / model, [report(*found)])
    baseline.write()
    assert baseline.file.read_text().splitlines() == [
        "{",
        '  "schema": "trtlint.baseline/1",',
        '  "entries": [',
        *(
            f'    {{"model": "../models/{model}", "rule": "{rule}", "fingerprint": "{fingerprint}", '
            f'"module": {module}, "node": "n"}}{comma}'
            for model, rule, fingerprint, module, comma in (
                ("a/b.onnx", "ACC102", "9", '"\\u00e4"', ","),
                ("a/b.onnx", "ACC103", "1", '"m"', ","),
                ("a/b.onnx", "ACC103", "2", "null", ","),
                ("z.onnx", "ACC102", "9", '"\\u00e4"', ","),
                ("z.onnx", "ACC103", "1", '"m"', ","),
                ("z.onnx", "ACC103", "2", "null", ""),
            )
        ),
        "  ]",
        "}",
    ]
    assert len(Baseline.read(baseline.file)) == 6


def test_an_empty_one_can_be_read(tmp_path: Path) -> None:
    baseline = recorded(tmp_path)
    assert len(baseline) == 0
    assert json.loads(baseline.file.read_text())["entries"] == []


def test_known_sites_are_suppressed_and_new_ones_are_left(tmp_path: Path) -> None:
    new = ("new", "head", "n")
    (found,) = applied(recorded(tmp_path, KNOWN), report(finding("ACC102", *BLOCKS, new)))
    assert [site.fingerprint for f in found.findings for site in f.sites] == ["new"]
    (known,) = found.suppressed
    assert [site.fingerprint for site in known.sites] == [block[0] for block in BLOCKS]
    assert known.suppression is not None
    assert (known.suppression.kind, known.suppression.reason) == ("baseline", "")
    assert found.gone == ()


def test_the_same_site_of_another_rule_is_new(tmp_path: Path) -> None:
    (found,) = applied(recorded(tmp_path, KNOWN), report(KNOWN, finding("ACC103", BLOCKS[0])))
    assert [f.rule for f in found.findings] == ["ACC103"]


def test_what_is_gone_is_named_by_its_place(tmp_path: Path) -> None:
    # The second block was mended; the fingerprints of equal blocks are numbered, so the last one goes.
    left = [("fp0", "blocks.0", "n0"), ("fp1", "blocks.2", "n2"), ("fp2", "blocks.3", "n3")]
    (found,) = applied(recorded(tmp_path, KNOWN), report(finding("ACC102", *left)))
    assert [(g.rule, g.fingerprint, g.place) for g in found.gone] == [("ACC102", "fp3", "blocks.1")]
    assert found.findings == ()


def test_a_rewritten_block_is_known_by_its_module_and_only_once(tmp_path: Path) -> None:
    baseline = recorded(tmp_path, KNOWN)
    changed = [*BLOCKS[:3], ("other", "blocks.3", "n")]
    (found,) = applied(baseline, report(finding("ACC102", *changed)))
    assert (found.findings, found.gone) == ((), ())
    (found,) = applied(baseline, report(finding("ACC102", *changed, ("another", "blocks.3", "n"))))
    assert [site.fingerprint for f in found.findings for site in f.sites] == ["another"]


def test_an_entry_counts_for_every_target_and_is_gone_only_from_all(tmp_path: Path) -> None:
    baseline = recorded(tmp_path, KNOWN)
    reports = applied(
        baseline, report(finding("ACC102", *BLOCKS[:2])), report(finding("ACC102", *BLOCKS[1:3]))
    )
    assert [found.findings for found in reports] == [(), ()]
    assert [[g.fingerprint for g in found.gone] for found in reports] == [["fp3"], ["fp3"]]


def test_what_may_be_there_or_was_not_looked_for_is_not_gone(tmp_path: Path) -> None:
    baseline = recorded(tmp_path, KNOWN)
    assert applied(baseline, report(conditional=(replace(KNOWN, depends=("--fp16",)),)))[0].gone == ()
    assert applied(baseline, report(), ran=frozenset({"ACC103"}))[0].gone == ()
    assert applied(baseline, replace(report(), suppressed=(KNOWN,)))[0].gone == ()
    assert len(applied(baseline, report())[0].gone) == 4
    assert (
        len(
            baseline.apply(tmp_path / "m.onnx", [report()], frozenset({"ACC103"}), frozenset({"ACC103"}))[
                0
            ].gone
        )
        == 4
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.sets(st.integers(0, 9)), after=st.sets(st.integers(0, 9)), modules=st.booleans())
def test_an_update_only_shrinks(tmp_path: Path, before: set[int], after: set[int], modules: bool) -> None:
    def sites(numbers: set[int]) -> Finding:
        places = ((f"{n}", f"m{n % 3}" if modules else None, f"n{n}") for n in sorted(numbers))
        return finding("ACC102", *places)

    def written() -> set[str]:
        return {entry["fingerprint"] for entry in json.loads(baseline.file.read_text())["entries"]}

    baseline = recorded(tmp_path, sites(before))
    (found,) = applied(baseline, report(sites(after)))
    dropped = baseline.shrink()
    assert written() <= {str(number) for number in before}
    assert dropped == len(found.gone) == len(before) - len(Baseline.read(baseline.file))
    new = sum(len(f.sites) for f in found.findings)
    known = sum(len(f.sites) for f in found.suppressed)
    assert new + known == len(after)
    assert known + dropped == len(before)
    if not modules:
        assert dropped == len(before - after)


def test_the_command(work: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert work.run("models", "--write-baseline", "base.json", "--fail-on", "note") == 0
    assert len(Baseline.read(Path("base.json"))) == 3
    check = ("models", "--baseline", "base.json", "--fail-on", "note")
    assert work.run(*check) == 0
    assert work.ids(*check) == []

    work.save(
        "models/a.onnx", [("Relu", "blocks.0"), ("Relu", "blocks.1"), ("Relu", "blocks.2"), ("Sin", "head")]
    )
    first = work.report(*check)["models"][0]
    assert work.code == 1
    assert [[site["module"] for site in found["sites"]] for found in first["findings"]] == [["blocks.2"]]
    assert first["gone"] == []

    work.save("models/a.onnx", [("Relu", "blocks.0"), ("Sin", "head")])
    first = work.report(*check)["models"][0]
    assert work.code == 0
    assert [(gone["rule"], gone["place"]) for gone in first["gone"]] == [("XYZ901", "blocks.1")]
    for format_ in ("full", "concise"):
        work.run(*check, "--format", format_)
        assert "gone" in work.out
        assert "blocks.1" in work.out
    before = Path("base.json").read_text()
    assert work.run(*check) == 0
    assert Path("base.json").read_text() == before
    capsys.readouterr()
    assert (
        run_with_error(work, capsys, *check, "--update-baseline")
        == "trtlint: base.json: 1 dropped, 2 places left\n"
    )
    assert (
        run_with_error(work, capsys, *check, "--update-baseline")
        == "trtlint: base.json: 0 dropped, 2 places left\n"
    )
    Path("models/a.onnx").unlink()
    assert any("models/a.onnx is no longer there" in note for note in work.report(*check)["notes"])
    assert (
        run_with_error(work, capsys, *check, "--update-baseline")
        == "trtlint: base.json: 2 dropped, 0 places left\n"
    )


def run_with_error(work: Workspace, capsys: pytest.CaptureFixture[str], *args: str) -> str:
    from trtlint.cli import run

    assert run(args) == 0
    return capsys.readouterr().err


def test_a_baseline_in_the_configuration_is_relative_to_it(work: Workspace) -> None:
    assert work.run("models", "--write-baseline", "ci/base.json") == 2  # there is no folder "ci"
    work.toml("ci/other.toml", "baseline = 'base.json'")
    assert work.run("models", "--write-baseline", "ci/base.json") == 0
    assert work.ids("models", "--config", "ci/other.toml") == []
    assert json.loads(Path("ci/base.json").read_text())["entries"][0]["model"] == "../models/a.onnx"


def test_a_suppressed_finding_is_not_recorded_and_an_unsure_one_is(work: Workspace) -> None:
    work.toml("trtlint.toml", "suppress = [{rule = 'XYZ901', reason = 'r'}]\nmin-confidence = 'confirmed'")
    assert work.run("models", "--write-baseline", "base.json") == 0
    assert [entry["rule"] for entry in json.loads(Path("base.json").read_text())["entries"]] == ["XYZ902"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a baseline: "),
        ("[]", "its schema is not 'trtlint.baseline/1'"),
        ('{"schema": "trtlint.baseline/1"}', "it has no list of entries"),
        ('{"schema": "trtlint.baseline/1", "entries": [{"model": 3}]}', "entry 0 lacks"),
    ],
)
def test_what_is_no_baseline_is_a_usage_error(
    work: Workspace, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    Path("base.json").write_text(text)
    assert work.run("models", "--baseline", "base.json") == 2
    error = capsys.readouterr().err
    assert error.startswith("trtlint: base.json: ")
    assert said in error


@pytest.mark.parametrize(
    "args",
    [["--update-baseline"], ["--baseline", "b", "--write-baseline", "b"], ["--isolated", "--config", "c"]],
)
def test_options_that_need_or_exclude_another(work: Workspace, args: list[str]) -> None:
    assert work.run("models", *args) == 2


# From here on, real models.


@cache
def rules() -> Rulebook:
    return load_builtin()


def real_models() -> list[Path]:
    """The models in examples/, and the exported ones where they are."""
    shared = Path(os.environ.get("TRTLINT_SHARED", REPOSITORY.parent / "shared"))
    return [
        *sorted(REPOSITORY.glob("examples/**/*.onnx")),
        *sorted((shared / "data" / "exported").glob("*.onnx")),
    ]


MODELS = real_models()


def reports_of(path: Path) -> tuple[ModelReport, ...]:
    return lint_file(path, TARGETS, rules())


def everything(path: Path) -> tuple[set[tuple[str, str]], set[str]]:
    """Rule and fingerprint of every site that is or may be there, and the fingerprints of all nodes."""
    reports = reports_of(path)
    assert [made.errors for made in reports] == [()] * len(TARGETS)
    sites = {
        (found.rule, site.fingerprint)
        for made in reports
        for found in (*made.findings, *made.conditional)
        for site in found.sites
    }
    model = load(path)
    prints = Fingerprints(model)
    nodes = prints.number([(prints.describe("", "node", node), node) for node in model.graph.nodes])
    assert len(set(nodes)) == len(nodes)
    return sites, set(nodes)


def check_survives(path: Path, folder: Path, seed: int) -> None:
    """A model under other names and in another order has the same fingerprints and nothing new or gone."""
    file = folder / "m.onnx"
    baseline = Baseline(folder / "baseline.json")
    baseline.record(file, reports_of(path))
    before = everything(path)
    onnx.save(reordered(renamed(onnx.load(path), seed), seed), file)
    assert everything(file) == before
    ids = frozenset(rule.id for rule in rules())
    for made in baseline.apply(file, reports_of(file), ids, ids):
        assert made.findings == ()
        assert made.gone == ()


@pytest.mark.slow
@FEW
@given(path=st.sampled_from(MODELS), seed=st.integers(0, 10_000))
def test_a_baseline_survives_a_re_export(tmp_path: Path, path: Path, seed: int) -> None:
    check_survives(path, tmp_path, seed)


@pytest.mark.skipif(not EVERY, reason="TRTLINT_ALL_MODELS is not set")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_baseline_survives_a_re_export(tmp_path: Path, path: Path) -> None:
    check_survives(path, tmp_path, len(path.name) * 31 + 7)


BAD = """
qs{i} = Mul (q{i}, s)
ks{i} = Mul (kt{i}, s)
w{i} = MatMul (qs{i}, ks{i})
p{i} = Softmax <axis = -1> (w{i})
o{i} = MatMul (p{i}, v{i})
"""


def attach(proto: onnx.ModelProto) -> None:
    """Add a block with its attention scale on both operands behind the first output of a model."""
    head = '< ir_version: 8, opset_import: ["" : 17] > g (float[1,8,197,64] extra) => (float[1,8,197,64] o) '
    inputs = "q = Add (extra, extra) kt = Transpose <perm = [0,1,3,2]> (extra) v = Add (q, q)"
    body = f"< float s = {{0.3}} > {{ {inputs} {BAD.format(i='')} }}"
    block = onnx.parser.parse_model(head + body).graph
    first = proto.graph.output[0].name
    bridge = [
        onnx.helper.make_node("Cast", [first], ["bad_c"], to=onnx.TensorProto.FLOAT),
        onnx.helper.make_node("ReduceMax", ["bad_c"], ["bad_m"], keepdims=0),
        onnx.helper.make_node("Add", ["bad_m", "bad_extra"], ["bad_in"]),
    ]
    for node in block.node:
        node.input[:] = ["bad_in" if name == "extra" else f"bad_{name}" for name in node.input]
        node.output[:] = [f"bad_{name}" for name in node.output]
    every: list[onnx.TensorProto | onnx.ValueInfoProto] = [*block.initializer, *block.input, *block.output]
    for named in every:
        named.name = f"bad_{named.name}"
    proto.graph.node.extend([*bridge, *block.node])
    proto.graph.initializer.extend(block.initializer)
    proto.graph.input.extend(block.input)
    proto.graph.output.extend(block.output)


def check_one_new(path: Path, folder: Path, seed: int) -> None:
    """A baselined model, disguised and with one bad block more, has exactly one new site and none gone."""
    file = folder / "m.onnx"
    book = [rules().rule("ACC102")]
    target = [Target(version="10.7")]
    baseline = Baseline(folder / "baseline.json")
    baseline.record(file, lint_file(path, target, book))
    proto = onnx.load(path)
    if not proto.graph.output:
        return
    attach(proto)
    onnx.save(reordered(renamed(proto, seed), seed), file)
    (made,) = baseline.apply(
        file, lint_file(file, target, book), frozenset({"ACC102"}), frozenset({"ACC102"})
    )
    assert [len(found.sites) for found in made.findings] == [1]
    assert made.gone == ()


@pytest.mark.slow
@FEW
@given(path=st.sampled_from(MODELS), seed=st.integers(0, 10_000))
def test_one_more_bad_block_is_one_new_finding(tmp_path: Path, path: Path, seed: int) -> None:
    check_one_new(path, tmp_path, seed)


@pytest.mark.skipif(not EVERY, reason="TRTLINT_ALL_MODELS is not set")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_one_more_bad_block_is_one_new_finding_in_every_model(tmp_path: Path, path: Path) -> None:
    check_one_new(path, tmp_path, len(path.name))


def chain(kinds: list[str], more: int | None = None, *, projected: bool = True) -> onnx.ModelProto:
    """Blocks one behind the other: ``bad`` ones, and others that the rule has nothing against.

    Args:
        kinds: the blocks.
        more: the place of one more bad block; the nodes of the others keep their names.
        projected: whether a bad block computes Q from its input, or takes the input itself.
    """
    numbered = list(enumerate(kinds))
    if more is not None:
        numbered.insert(more, (99, "bad"))
    lines, x = ["x = Add (input, input)"], "x"
    for i, kind in numbered:
        if kind == "bad":
            q = f"q{i}" if projected else x
            block = BAD.format(i=i).replace(f"q{i},", f"{q},").strip().splitlines()
            lines += [
                f"q{i} = Add ({x}, {x})",
                f"kt{i} = Transpose <perm = [0,1,3,2]> ({x})",
                f"v{i} = Relu ({x})",
            ]
            lines += [*block, f"x{i} = Add (o{i}, {x})"]
        else:
            lines += [f"h{i} = {kind} ({x})", f"x{i} = Add (h{i}, {x})"]
        x = f"x{i}"
    lines.append(f"y = Sigmoid ({x})")
    model = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > g (float[1,8,197,64] input) => (float[1,8,197,64] y) '
        "< float s = {0.3} > { " + "\n".join(lines) + " }"
    )
    for node in model.graph.node:
        node.name = f"/{node.output[0]}"
    return model


def check_chain(folder: Path, before: onnx.ModelProto, after: onnx.ModelProto, bad: int) -> None:
    """The second model has one new site of ACC102 and none gone; the first has ``bad``."""
    book = [rules().rule("ACC102")]
    ids = frozenset({"ACC102"})
    file = folder / "m.onnx"
    baseline = Baseline(folder / "baseline.json")
    onnx.save(before, file)
    first = lint_file(file, [Target(version="10.7")], book)
    assert sum(len(found.sites) for found in first[0].findings) == bad
    baseline.record(file, first)
    onnx.save(after, file)
    (made,) = baseline.apply(file, lint_file(file, [Target(version="10.7")], book), ids, ids)
    assert [len(found.sites) for found in made.findings] == [1]
    assert made.gone == ()


KINDS = st.lists(st.sampled_from(["bad", "Tanh", "Sin"]), max_size=5)


@pytest.mark.slow
@FEW
@given(kinds=KINDS, place=st.integers(0, 5), seed=st.integers(0, 10_000))
def test_a_bad_block_anywhere_is_one_new_finding_whatever_its_names(
    tmp_path: Path, kinds: list[str], place: int, seed: int
) -> None:
    after = reordered(renamed(chain(kinds, place), seed), seed)
    check_chain(tmp_path, chain(kinds), after, kinds.count("bad"))


@pytest.mark.slow
@FEW
@given(kinds=KINDS, place=st.integers(0, 5), seed=st.integers(0, 10_000))
@example(kinds=["Tanh", "bad", "Tanh", "bad"], place=0, seed=0)
def test_so_is_one_that_becomes_part_of_the_others_surroundings(
    tmp_path: Path, kinds: list[str], place: int, seed: int
) -> None:
    after = reordered(chain(kinds, place, projected=False), seed)
    check_chain(tmp_path, chain(kinds, projected=False), after, kinds.count("bad"))
