"""Tests of the summary of many models on one screen."""

from __future__ import annotations

import io

from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from tests.report import handmade
from trtlint.engine.caveats import Caveat
from trtlint.engine.finding import ModelReport, Suppression
from trtlint.report.formats import Style
from trtlint.report.summary import SCREEN, SummaryWriter, writer


def write(models: list[ModelReport], *, height: int | None = SCREEN, apart: bool = False) -> list[str]:
    file = io.StringIO()
    summary = SummaryWriter(file, apart=apart, height=height)
    for model in models:
        summary.add([model])
    summary.close(())
    return file.getvalue().splitlines()


def model(number: int, rules: int) -> ModelReport:
    """Return a model with this many rules, each with a finding at three places."""
    findings = tuple(
        replace(handmade.SCALE, rule=f"T{rule:03}", sites=handmade.SCALE.sites[:3]) for rule in range(rules)
    )
    return ModelReport(f"m{number}.onnx", "TensorRT 10.7", findings)


def test_summary(snapshot: SnapshotAssertion) -> None:
    accepted = replace(handmade.CLIP, suppression=Suppression("baseline", "trtlint-baseline.json"))
    models = [
        *handmade.one_model().models,
        handmade.clean_model(),
        handmade.unreadable(),
        replace(handmade.clean_model("b.onnx"), findings=(handmade.CLIP,), suppressed=(accepted,)),
    ]
    assert "\n".join(write(models)) == snapshot


def test_worst_first() -> None:
    lines = write([model(i, 4 - i) for i in range(4)] + list(handmade.one_model().models))
    order = [line.split("[")[1].split("]")[0] for line in lines if "[" in line]
    assert order == ["T000", "T001", "T002", "ACC102", "T003", "ACC104"]


def test_a_screen_is_enough() -> None:
    broken = [handmade.unreadable(f"broken{i}.onnx") for i in range(30)]
    lines = write([model(i, 60) for i in range(500)] + broken)
    assert len(lines) < SCREEN
    assert any("30 files could not be linted" in line for line in lines)
    assert any("rarer rules at" in line and "--statistics" in line for line in lines)


def test_everything_where_asked_for() -> None:
    broken = [handmade.unreadable(f"broken{i}.onnx") for i in range(30)]
    lines = write([model(0, 60), *broken], height=None)
    assert sum("sdpa-scale" in line for line in lines) == 60
    assert sum("broken" in line for line in lines) == 30


def test_several_targets_count_once() -> None:
    file = io.StringIO()
    summary = SummaryWriter(file)
    summary.add(handmade.several_targets().models)
    summary.close(())
    assert "1 error, 1 warning, 1 note in 1 model for TensorRT 10.6 to 11.0" in file.getvalue()


def test_nothing_found() -> None:
    assert write([handmade.clean_model()]) == ["no findings in 1 model for TensorRT 10.7"]


def rules(lines: list[str]) -> int:
    """Return the number of rules with their own line."""
    return sum("[T" in line for line in lines)


def test_a_line_that_stands_for_one_rule_is_that_rule() -> None:
    fit = write([model(0, 5)], height=12)
    assert (rules(fit), any("rarer" in line for line in fit)) == (5, False)
    more = write([model(0, 6)], height=12)
    assert rules(more) == 4
    assert any("2 less severe or rarer rules at 6 places" in line for line in more)


def test_files_that_are_not_named_take_no_room_from_rules() -> None:
    broken = [handmade.unreadable(f"broken{i}.onnx") for i in range(30)]
    assert rules(write([model(0, 60), *broken])) == SCREEN - 8 - 5


def test_a_finding_about_the_whole_model_is_one_place() -> None:
    whole = replace(handmade.clean_model(), findings=(replace(handmade.SCALE, sites=()),))
    (line,) = (line for line in write([whole]) if handmade.SCALE.rule in line)
    assert line.split()[-2:] == ["1", "1"]


def test_a_model_with_findings_that_depend_on_options_counts_as_linted() -> None:
    partly = replace(handmade.unreadable(), conditional=(handmade.SCALE,))
    assert write([partly, handmade.unreadable("other.onnx")])[0].startswith("no findings in 1 model")


def test_the_end_of_a_run_lists_all_rules_unless_a_screen_is_enough() -> None:
    models = [model(0, 60)]

    def written(statistics: bool) -> list[str]:
        file = io.StringIO()
        made = writer(file, Style(files=1, rules=(), root=None, statistics=statistics))
        made.add(models)
        made.close(())
        return file.getvalue().splitlines()

    assert written(True) == write(models, height=None)
    assert written(False) == write(models)
    assert write(models, height=None, apart=True) == ["", *write(models, height=None)]


def test_every_line() -> None:
    caveat = Caveat("unsearched", "the search did not finish", "warning")
    noted = [replace(model(at, 0), path=f"n{at}.onnx") for at in range(6)]

    def lines(height: int | None) -> list[str]:
        file = io.StringIO()
        summary = SummaryWriter(file, height=height)
        for each in (model(0, 4), replace(model(1, 2), path="m1.onnx"), handmade.clean_model(), *noted):
            summary.add([each])
        summary._caveats += [(each.path, caveat) for each in noted]
        for at in range(6):
            summary.add([handmade.unreadable(f"broken{at}.onnx")])
        summary.close(())
        return file.getvalue().splitlines()

    head = "6 errors in 2 of 9 models for TensorRT 10.7"
    rules = [f"{'':11}  {'':27}  {'models':>7}  {'places':>7}"]
    rules += [
        f"error[T{at:03}]  sdpa-scale-on-both-operands  {n:>7}  {3 * n:>7}"
        for at, n in enumerate((2, 2, 1, 1))
    ]
    notes = [f"warning: n{at}.onnx: the search did not finish" for at in range(6)]
    whole = lines(None)
    assert whole[:-6] == [head, *rules, *notes, "6 files could not be linted"]
    assert [line.partition(":")[0] for line in whole[-6:]] == [f"  broken{at}.onnx" for at in range(6)]
    # The screen has 8 other lines, 5 of caveats and 5 of unreadable files: two rules fit, or three.
    for height, shown, rest in (
        (21, rules, ""),
        (20, rules[:3], "2 less severe or rarer rules at 6 places: --statistics lists all rules"),
        (19, rules[:2], "3 less severe or rarer rules at 12 places: --statistics lists all rules"),
        (1, rules[:2], "3 less severe or rarer rules at 12 places: --statistics lists all rules"),
    ):
        assert lines(height) == [
            head,
            *shown,
            *([rest] if rest else []),
            *notes[:4],
            "and 2 more such notes",
            "6 files could not be linted",
            *whole[-6:-2],
            "  and 2 more problems",
        ]
