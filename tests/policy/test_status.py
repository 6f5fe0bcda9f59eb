"""Tests of preview rules, groups, and renamed or removed rules on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.workspace import Workspace
from trtlint.knowledge.redirects import Redirect

RENAMED = Redirect("XYZ801", "house-rectifier", "XYZ901", "0.2", "it tells of every Relu")
REMOVED = Redirect("XYZ802", "house-cos", None, "0.3", "measured to be harmless")
Redirected = Callable[..., None]


def in_preview(work: Workspace, id_: str) -> None:
    """Mark a rule as preview."""
    (file,) = work.path.glob(f"house/**/{id_}-*.md")
    file.write_text(file.read_text(encoding="utf-8").replace("find:", "status: preview\nfind:", 1))


def notes(work: Workspace, *args: str) -> list[str]:
    """Return the standard error of a run."""
    work.code = 0
    from trtlint.cli import run

    run(args)
    return work.capsys.readouterr().err.splitlines()


def test_previews_are_off_until_they_are_wanted(work: Workspace) -> None:
    in_preview(work, "XYZ902")
    assert work.ids("models") == ["XYZ901"]
    assert work.ids("models", "--preview") == ["XYZ901", "XYZ902"]
    assert work.ids("models", "--select", "XYZ902") == ["XYZ902"]
    assert work.ids("models", "--select", "XYZ") == ["XYZ901"]
    assert work.run("test", "house") == 1  # it has no examples, like its stable neighbour
    assert "2 rules (1 in preview)" in work.out
    work.toml("trtlint.toml", "preview = true")
    assert work.ids("models") == ["XYZ901", "XYZ902"]
    assert work.ids("models", "--no-preview") == ["XYZ901"]


def test_groups_are_selected_by_name(work: Workspace) -> None:
    (work.path / "house" / "memory").mkdir()
    (file,) = work.path.glob("house/XYZ902-*.md")
    file.rename(work.path / "house" / "memory" / file.name)
    assert work.ids("models", "--select", "memory") == ["XYZ902"]
    assert work.ids("models", "--ignore", "memory") == ["XYZ901"]
    work.toml("trtlint.toml", "severity = {memory = 'error'}")
    model = work.model("models/a.onnx", "--select", "memory")
    assert [found["severity"] for found in model["findings"]] == ["error"]
    work.toml("trtlint.toml", "[[suppress]]\nrule = 'memory'\nreason = 'enough of it'")
    assert work.ids("models") == ["XYZ901"]


def test_an_unknown_status_is_an_error(work: Workspace) -> None:
    (file,) = work.path.glob("house/XYZ902-*.md")
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("find:", "status: previw\nfind:", 1))
    assert work.run("test", str(file)) == 2
    assert "status: unknown 'previw'; did you mean 'preview'?" in work.capsys.readouterr().err


@pytest.mark.parametrize("old", ["XYZ801", "house-rectifier"])
def test_configuration_that_names_a_renamed_rule_goes_on_working(
    work: Workspace, redirected: Redirected, old: str
) -> None:
    redirected(RENAMED)
    assert work.ids("models", "--select", old) == ["XYZ901"]
    assert work.ids("models", "--ignore", old) == ["XYZ902"]
    work.toml("trtlint.toml", f"ignore = ['{old}']")
    assert work.ids("models") == ["XYZ902"]
    work.toml("trtlint.toml", f"severity = {{{old} = 'note'}}")
    assert work.run("models", "--fail-on", "error") == 0
    work.toml("trtlint.toml", f"[[suppress]]\nrule = '{old}'\nreason = 'known'")
    assert work.ids("models") == ["XYZ902"]
    work.capsys.readouterr()
    (note,) = notes(work, "models")
    assert note == (
        f"trtlint: note: trtlint.toml: suppress[0].rule: {old} is XYZ901 since trtlint 0.2: "
        "it tells of every Relu"
    )


def test_options_that_name_a_renamed_or_removed_rule_are_told_once(
    work: Workspace, redirected: Redirected
) -> None:
    redirected(RENAMED, REMOVED)
    assert notes(work, "models", "--select", "XYZ801,XYZ802", "-q") == [
        "trtlint: note: --select: XYZ801 is XYZ901 since trtlint 0.2: it tells of every Relu",
        "trtlint: note: --select: XYZ802 was removed in trtlint 0.3: measured to be harmless",
    ]
    assert work.ids("models", "--select", "XYZ802") == []


def test_a_model_that_suppresses_a_renamed_rule_says_so(work: Workspace, redirected: Redirected) -> None:
    redirected(RENAMED, REMOVED)
    for rule in ("XYZ801", "XYZ802"):
        assert work.run("suppress", "models/a.onnx", rule, "--reason", "r", "-o", f"{rule}.onnx") == 0
    work.capsys.readouterr()
    model = work.model("XYZ801.onnx")
    assert [found["rule"] for found in model["findings"]] == ["XYZ902"]
    assert model["notes"] == ["XYZ801 is XYZ901 since trtlint 0.2: it tells of every Relu"]
    model = work.model("XYZ802.onnx")
    assert model["notes"] == ["XYZ802 was removed in trtlint 0.3: measured to be harmless"]


def test_a_baseline_outlives_a_new_id(work: Workspace, redirected: Redirected) -> None:
    (old,) = work.path.glob("house/XYZ901-*.md")
    text = old.read_text(encoding="utf-8")
    former = old.with_name("XYZ801-house-rectifier.md")
    former.write_text(text.replace("XYZ901", "XYZ801").replace("house-relu", "house-rectifier"))
    old.unlink()
    assert work.run("models", "--write-baseline", "known.json") == 0
    known = json.loads((work.path / "known.json").read_text(encoding="utf-8"))
    assert sum(entry["rule"] == "XYZ801" for entry in known["entries"]) == 2

    former.unlink()
    old.write_text(text)
    # Each has a different place: only equal fingerprints pair these entries with what is found.
    for entry in known["entries"]:
        entry["node"], entry["module"] = "elsewhere", None
    (work.path / "known.json").write_text(json.dumps(known), encoding="utf-8")
    redirected(RENAMED)
    work.capsys.readouterr()
    assert work.ids("models", "--baseline", "known.json") == []
    (note,) = notes(work, "models", "--baseline", "known.json")
    assert note == "trtlint: note: known.json: XYZ801 is XYZ901 since trtlint 0.2: it tells of every Relu"


def test_a_removed_rule_is_dropped_from_a_baseline(work: Workspace, redirected: Redirected) -> None:
    (file,) = work.path.glob("house/XYZ901-*.md")
    assert work.run("models", "--write-baseline", "known.json") == 0
    file.unlink()
    redirected(Redirect("XYZ901", "house-relu", None, "0.3", "measured to be harmless"))
    assert work.run("models", "--baseline", "known.json", "--update-baseline") == 0
    assert "XYZ901" not in (work.path / "known.json").read_text(encoding="utf-8")


def test_explaining_a_rule_by_the_name_that_it_had(work: Workspace, redirected: Redirected) -> None:
    redirected(RENAMED, REMOVED)
    assert work.run("rule", "house-rectifier") == 0
    assert work.out.startswith("error[XYZ901] house-relu")
    assert work.run("rule", "XYZ802") == 2
    assert "XYZ802 was removed in trtlint 0.3" in work.capsys.readouterr().err


def test_statistics_count_every_rule_once_by_each_sort(work: Workspace) -> None:
    in_preview(work, "XYZ902")
    assert work.run("rules", "--statistics", "--format", "json") == 0
    counts = json.loads(work.out)
    assert counts["rules"] == 2
    for by in ("group", "ground", "evidence", "status", "severity"):
        assert sum(counts[f"by_{by}"].values()) == 2
    assert counts["by_status"] == {"preview": 1, "stable": 1, "deprecated": 0}
    assert counts["by_ground"]["model"] == 2
    assert work.run("rules", "--statistics") == 0
    assert work.out.startswith("2 rules\n\nby group\n")
    assert work.run("rules", "XYZ902", "--format", "json") == 0
    (rule,) = json.loads(work.out)
    assert (rule["id"], rule["status"], rule["ground"]) == ("XYZ902", "preview", "model")
