"""Tests of baselines: known findings are hidden, and an update only removes entries."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.conftest import REPOSITORY
from tests.workspace import Workspace
from trtlint.engine.finding import Finding, ModelReport, Site
from trtlint.errors import SettingError
from trtlint.policy.baseline import Baseline, require_baseline_path
from trtlint.policy.entries import KnownSite

IDS = frozenset({"ACC102", "ACC103"})


def finding(rule: str, *sites: tuple[str, str | None, str]) -> Finding:
    """Return a finding at sites of fingerprint, module and node."""
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
    """Return a baseline of one model after a write and a read."""
    baseline = Baseline(folder / "baseline.json")
    (folder / "m.onnx").touch()
    baseline.record(folder / "m.onnx", [report(*findings)])
    baseline.write()
    return Baseline.read(baseline.file)


def applied(baseline: Baseline, *reports: ModelReport, ran: frozenset[str] = IDS) -> tuple[ModelReport, ...]:
    return baseline.apply(baseline.file.parent / "m.onnx", reports, ran, IDS)


@pytest.mark.parametrize("rules", ["one", "many"])
def test_a_long_baseline_takes_no_longer_than_its_entries(tmp_path: Path, rules: str) -> None:
    """One rule has all its sites elsewhere, or equally many rules no longer exist."""
    count = 20_000
    baseline = Baseline(
        tmp_path / "baseline.json",
        (
            KnownSite("m.onnx", "ACC102" if rules == "one" else f"OLD{n}", f"{n:x}", f"n{n}")
            for n in range(count)
        ),
    )
    began = time.process_time()
    (found,) = applied(baseline, report(finding("ACC102", *BLOCKS)))
    assert time.process_time() - began < 2.5  # a tenth of a second; eight and more where each looks at all
    assert len(found.gone) == count


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
    # The second block was fixed; the fingerprints of equal blocks are numbered, so the last one goes.
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
        assert "1 stale place in the baseline" in work.out
        assert "blocks.1" in work.out
    before = Path("base.json").read_text()
    assert work.run(*check) == 0
    assert Path("base.json").read_text() == before
    capsys.readouterr()
    assert (
        run_with_error(work, capsys, *check, "--update-baseline")
        == "trtlint: base.json: removed 1 place, 2 places left\n"
    )
    assert (
        run_with_error(work, capsys, *check, "--update-baseline")
        == "trtlint: base.json: removed 0 places, 2 places left\n"
    )
    Path("models/a.onnx").unlink()
    assert any("models/a.onnx no longer exists" in note for note in work.report(*check)["notes"])
    assert (
        run_with_error(work, capsys, *check, "--update-baseline")
        == "trtlint: base.json: removed 2 places, 0 places left\n"
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
        ('{"schema": "trtlint.baseline/1"}', "the list of entries is missing"),
        ('{"schema": "trtlint.baseline/1", "entries": [{"model": 3}]}', "in entry 0, the values of"),
        ('{"schema": "trtlint.baseline/1", "entries": ["\\ud800"]}', "in entry 0, the values of"),
        (
            '{"schema": "trtlint.baseline/1", "entries": [{"model": "m", "rule": "r", "fingerprint": "f"}]}',
            "in entry 0, the values of 'model', 'rule', 'fingerprint' and 'node' must be strings",
        ),
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


def test_a_baseline_beyond_the_limit_is_one_line(
    work: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trtlint.policy.baseline._MOST_BYTES", 1 << 20)
    file = work.path / "known.json"
    file.write_text(
        '{"schema": "trtlint.baseline/1", "entries": [' + "[]," * 400_000 + "[]]}", encoding="utf-8"
    )
    assert work.run("models", "--baseline", "known.json") == 2
    assert "known.json: longer than 1 MiB, the limit for this kind of file" in capsys.readouterr().err


def test_no_baseline_is_written_that_cannot_be_read(
    work: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trtlint.policy.baseline._MOST_BYTES", 100)
    assert work.run("models", "--write-baseline", "known.json") == 2
    assert "a baseline with 3 entries would exceed the limit of 0 MiB" in capsys.readouterr().err
    assert not (work.path / "known.json").exists()


@pytest.mark.slow
@pytest.mark.isolated
def test_the_work_on_a_baseline_is_limited(
    work: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work.run("models", "--write-baseline", "known.json")

    def endless(*_: object) -> bytes:
        deadline = time.process_time() + 30
        while time.process_time() < deadline:
            pass
        return b""

    monkeypatch.setattr("trtlint.policy.baseline.read_bytes", endless)
    monkeypatch.setattr("trtlint.files.limits.SECONDS", 0.3)
    assert work.run("models", "--baseline", "known.json") == 2
    said = capsys.readouterr().err
    assert (
        "known.json: not a baseline: reading and checking this file exceeded the limit of 0.3 s of "
        "processor time" in said
    )


def test_accepted_findings_are_no_new_findings(work: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    text = run_with_error(work, capsys, "models", "--write-baseline", "base.json", "--fail-on", "never")
    recorded = re.search(r"recorded (\d+ places)", text)
    assert recorded is not None
    work.run("models", "--baseline", "base.json")
    assert f"models/a.onnx: no new findings ({recorded[1]} in the baseline) for " in work.out
    work.run("models", "--baseline", "base.json", "--format", "summary")
    assert "no new findings in 2 models" in work.out
    assert f"{recorded[1]} in the baseline" in work.out
    work.run("models", "--baseline", "base.json", "--format", "markdown")
    assert "### trtlint: no new findings\n" in work.out
    work.run("models", "--baseline", "base.json", "--output", "html:page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<h1>No new findings in 2 models</h1>" in page
    assert f"no new findings ({recorded[1]} in the baseline)" in page


def test_an_updated_baseline_has_no_gone_entries(work: Workspace) -> None:
    assert work.run("models", "--write-baseline", "base.json") == 0
    work.save("models/a.onnx", [("Relu", "blocks.0"), ("Sin", "head")])
    work.run("models", "--baseline", "base.json", "--update-baseline")
    assert "stale place" not in work.out


def test_a_baseline_of_the_configuration_is_not_for_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from trtlint.cli import run

    monkeypatch.chdir(tmp_path)
    shutil.copy(REPOSITORY / "examples" / "vit.onnx", "vit.onnx")
    Path("trtlint.toml").write_text('target = { trt = "10.7" }\n', encoding="utf-8")
    assert run(["vit.onnx", "--write-baseline", "base.json"]) == 0
    with Path("trtlint.toml").open("a", encoding="utf-8") as file:
        file.write('baseline = "base.json"\n')
    capsys.readouterr()
    assert run(["vit.onnx"]) == 0
    assert run(["fix", "vit.onnx", "--dry-run"]) == 0
    assert ": 0 places rewritten" not in capsys.readouterr().out


def test_an_update_records_where_a_known_block_is_now(tmp_path: Path) -> None:
    baseline = recorded(tmp_path, KNOWN)
    moved = [(fingerprint, f"stages.{module}", f"{node}/new") for fingerprint, module, node in BLOCKS]
    applied(baseline, report(finding("ACC102", *moved)))
    assert baseline.shrink() == 0
    entries = json.loads(baseline.file.read_text())["entries"]
    assert [(entry["fingerprint"], entry["module"], entry["node"]) for entry in entries] == moved


def test_a_renamed_model_may_have_unsure_findings_that_are_not_recorded(tmp_path: Path) -> None:
    baseline = recorded(tmp_path, KNOWN)
    (tmp_path / "m.onnx").rename(tmp_path / "new.onnx")
    unsure = finding("ACC102", ("fp9", "blocks.9", "n9"))
    (found,) = baseline.apply(tmp_path / "new.onnx", [report(KNOWN, conditional=(unsure,))], IDS, IDS)
    assert [note.partition(";")[0] for note in found.notes] == ["renamed from m.onnx"]
    assert found.findings == ()


@pytest.mark.parametrize("damage", ["empty", "no folder", "corrupt", "pointer"])
@pytest.mark.parametrize("option", ["--write-baseline", "--update-baseline"])
def test_a_run_keeps_the_entries_of_models_that_it_did_not_read(
    work: Workspace, option: str, damage: str
) -> None:
    work.save("models/b.onnx", [("Relu", "blocks.0")])
    work.run("models", "--write-baseline", "base.json")
    before = Path("base.json").read_text(encoding="utf-8")
    assert '"models/a.onnx"' in before
    if damage == "corrupt":
        Path("models/a.onnx").write_bytes(b"no model")
    elif damage == "pointer":
        lines = ("version https://git-lfs.github.com/spec/v1", f"oid sha256:{'0' * 64}", "size 9", "")
        Path("models/a.onnx").write_text("\n".join(lines), encoding="utf-8")
    else:
        shutil.rmtree("models")
        if damage == "empty":
            Path("models").mkdir()
    names = ("--baseline", "base.json", option) if option == "--update-baseline" else (option, "base.json")
    work.run("models", *names, "--fail-on", "never")
    assert work.code == (0 if damage == "pointer" else 3)
    assert Path("base.json").read_text(encoding="utf-8") == before


def test_a_failed_run_keeps_missing_models_but_removes_fixed_findings(
    work: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("b", "c"):
        work.save(f"models/{name}.onnx", [("Relu", "blocks.0")])
    work.run("models", "--write-baseline", "base.json")
    Path("models/a.onnx").unlink()
    Path("models/b.onnx").write_bytes(b"no model")
    work.save("models/c.onnx", [("Abs", "blocks.0")])
    assert work.run("models", "--baseline", "base.json", "--update-baseline") == 3
    assert "removed 1 place, 4 places left; kept missing models" in capsys.readouterr().err
    assert Baseline.read(Path("base.json")).models == ["models/a.onnx", "models/b.onnx"]
    work.save("models/b.onnx", [("Relu", "blocks.0")])
    work.run("models", "--baseline", "base.json", "--update-baseline")
    assert Baseline.read(Path("base.json")).models == ["models/b.onnx"]


def test_no_baseline_is_created_if_no_file_was_read(work: Workspace) -> None:
    Path("empty").mkdir()
    assert work.run("empty", "--write-baseline", "base.json") == 3
    assert not Path("base.json").exists()


@pytest.mark.parametrize(
    "content", [b"", b" \n", b"{", b'  {"version": 1}', b"<<<<<<< ours\n{", b" " * 512 + b"x"]
)
def test_files_that_may_be_overwritten(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "known.json"
    file.write_bytes(content)
    require_baseline_path(file)
    assert file.read_bytes() == content


@pytest.mark.parametrize("content", [b"x", b"\x08\x07", b"<<<<<<", b"[]", b" " * 511 + b"x"])
def test_files_with_other_content(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "known.json"
    file.write_bytes(content)
    with pytest.raises(SettingError) as raised:
        require_baseline_path(file)
    assert str(raised.value) == f"cannot write the baseline to {file}: the existing file is not a baseline"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    require_baseline_path(tmp_path / "known.json")
    with pytest.raises(SettingError, match=r"cannot write the baseline to .*: this is a directory"):
        require_baseline_path(tmp_path)


def test_a_report_does_not_replace_the_new_baseline(
    work: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert work.run("models", "--write-baseline", "base.json", "--output", "json:./base.json") == 2
    assert "base.json: 2 outputs would be written to this file" in capsys.readouterr().err
    assert not Path("base.json").exists()
