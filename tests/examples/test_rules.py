"""Tests of the examples in rule files, and of messages for failed examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.rules import make_rule
from trtlint.engine.rule import RuleError
from trtlint.engine.rulebook import builtin_rules, load_rules, rule_files
from trtlint.examples.rules import ExampleResult, examples, run_examples

RELU = """\
< ir_version: 8, opset_import: ["" : 17] >
g (float[2] x) => (float[2] y) { y = Relu(x) }
"""
TANH = RELU.replace("Relu", "Tanh")


def body(fires: str, silent: str, options: str = "") -> str:
    return f"## Fires\n```onnx{options}\n{fires}```\n## Stays silent\n```onnx{options}\n{silent}```\n"


def run(folder: Path, text: str, **front: str | None) -> list[ExampleResult]:
    front.setdefault("where", 'op == "Relu"')
    return list(run_examples([make_rule(folder, text, **front)]))


def test_examples_that_hold(tmp_path: Path) -> None:
    results = run(tmp_path, body(RELU, TANH))
    assert [(result.expected, result.got) for result in results] == [("fires", "fires"), ("silent", "silent")]
    assert all(result.ok for result in results)


TWICE = """\
< ir_version: 8, opset_import: ["" : 17] >
g (float[2] x) => (float[2] y) { [first] z = Relu(x) [second] y = Relu(z) }
"""


@pytest.mark.parametrize(
    ("words", "got"),
    [
        ("at: first,second", "fires"),
        ("at: second,first times: 2", "fires"),
        ("times: 2", "fires"),
        ("at: first", "elsewhere"),
        ("at: first,second,third", "elsewhere"),
        ("times: 1", "elsewhere"),
        ("times: 000000002", "fires"),
    ],
)
def test_an_example_says_where_and_how_often(tmp_path: Path, words: str, got: str) -> None:
    text = body(TWICE, TANH).replace("```onnx", f"```onnx {words}", 1)
    result = run(tmp_path, text)[0]
    assert (result.got, result.ok) == (got, got == "fires")
    assert "at first, second" in result.detail


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (" times: two", "times: must be a number"),
        (f" times: {'9' * 5000}", "times: must be a number"),
        (f" times: {'1' * 10}", "times: must be a number, not '1111111111'"),
        (" times: 1", "must not have 'at:' or 'times:'"),
        (" at: z", "must not have"),
    ],
)
def test_places_that_cannot_be(tmp_path: Path, options: str, problem: str) -> None:
    with pytest.raises(RuleError, match=problem):
        run(tmp_path, body(TANH, TANH, options))


def test_a_fix_that_does_not_exist(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, body(RELU, TANH), where='op == "Relu"', advice="[{do: x, fix: merge-scales}]")
    (missing, *_) = run_examples([rule], fixes=["merge-scale"])
    assert not missing.ok
    assert str(missing).endswith("TST001: unknown fix 'merge-scales'; did you mean 'merge-scale'?")
    assert all(result.ok for result in run_examples([rule], fixes=["merge-scales"]))
    assert all(result.ok for result in run_examples([rule]))


def test_examples_name_a_build_command_and_the_version_that_is_left(tmp_path: Path) -> None:
    options = ' --trt 11.4 --from 8.6 --build "trtexec --onnx=a.onnx --fp16"'
    fires = 'op == "Relu" and "fp16" in target.asked and target.leaving == (8, 6)'
    assert all(result.ok for result in run(tmp_path, body(RELU, TANH, options), where=fires))
    flag = run(
        tmp_path, body(RELU, TANH, options), find="flag", where='name == "--fp16"', mark=None, message="here"
    )
    assert [result.got for result in flag] == ["fires", "fires"]
    with pytest.raises(RuleError, match="is not a trtexec command"):
        run(tmp_path, body(RELU, TANH, ' --build "python build.py"'))


def test_examples_that_do_not_hold_name_their_line(tmp_path: Path) -> None:
    results = run(tmp_path, body(TANH, RELU))
    assert [(result.expected, result.got, result.ok) for result in results] == [
        ("fires", "silent", False),
        ("silent", "fires", False),
    ]
    lines = (tmp_path / "TST001-a-rule.md").read_text().split("\n")
    assert [lines[result.line - 1] for result in results] == ["```onnx", "```onnx"]
    assert str(results[0]).endswith(f":{results[0].line}: TST001: expected fires, got silent")


def test_a_finding_that_depends_on_the_target_is_neither(tmp_path: Path) -> None:
    results = run(
        tmp_path, body(RELU, RELU), where='op == "Relu" and target.fp16', applies='{tensorrt: "<11"}'
    )
    assert [result.got for result in results] == ["conditional", "conditional"]
    assert not any(result.ok for result in results)
    assert "--fp16" in results[0].detail


@pytest.mark.parametrize(
    ("options", "fires"),
    [
        (" --trt 10.7", True),
        (" --trt 10.8", False),
        (" --rtx 1.5", False),
        ("", True),  # the newest release that the rule applies to
    ],
)
def test_the_target_of_an_example(tmp_path: Path, options: str, fires: bool) -> None:
    results = run(tmp_path, body(RELU, TANH, options), applies='{tensorrt: ">=10.7,<10.8"}')
    assert (results[0].got == "fires") is fires


def test_flags_and_gpu_of_an_example(tmp_path: Path) -> None:
    where = 'op == "Relu" and target.fp16 and not target.tf32 and target.sm == 89'
    options = " --trt 10.7 --gpu L4 --fp16 --no-tf32"
    results = run(tmp_path, body(RELU, TANH, options), where=where, applies='{tensorrt: "*"}')
    assert results[0].got == "fires"


def test_a_rule_without_examples_or_references_fails(tmp_path: Path) -> None:
    results = run(tmp_path, "", references="[]")
    assert [result.detail for result in results] == [
        "no example below '## Fires'",
        "no example below '## Stays silent'",
        "no public reference",
    ]
    assert not any(result.ok for result in results)


def test_a_text_that_is_no_model(tmp_path: Path) -> None:
    results = run(tmp_path, body("< ir_version: 8 >\ng (x) => (y {\n", TANH))
    assert (results[0].got, results[0].ok) == ("unreadable", False)
    lines = (tmp_path / "TST001-a-rule.md").read_text().split("\n")
    assert f"line {lines.index('g (x) => (y {') + 1}: " in results[0].detail


@pytest.mark.parametrize(
    "inputs", [f"(float[{'9' * 30}] x)", f"(float[{'9' * 5000}] x)", "(float[1] x, float[1] w = {1e50})"]
)
def test_a_number_that_the_parser_cannot_hold(tmp_path: Path, inputs: str) -> None:
    results = run(tmp_path, body(f"< ir_version: 8 >\ng {inputs} => (float[1] y) {{ y = Relu (x) }}\n", TANH))
    assert (results[0].got, results[0].ok) == ("unreadable", False)
    assert results[0].detail == "a stored number is invalid or too large for its type"


def test_the_checker_must_accept_an_example_unless_it_says_so(tmp_path: Path) -> None:
    broken = TANH.replace("Tanh", "Tahn")
    assert run(tmp_path, body(RELU, broken))[1].got == "unreadable"
    assert run(tmp_path, body(RELU, broken, " unchecked"))[1].ok


def test_comments_and_initializers_without_elements(tmp_path: Path) -> None:
    model = """\
# a large weight
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,3,8,8] x) => (float[1,2,8,8] y)
< float[2,3,1,1] w = {} >
{ z = Conv(x, w)
  y = Relu(z) }
"""
    assert run(tmp_path, body(model, TANH))[0].got == "fires"


def test_strings_without_elements(tmp_path: Path) -> None:
    model = RELU.replace("{", "< string[2] s = {} > {", 1)
    assert run(tmp_path, body(model, TANH))[0].got == "fires"


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (f"# Title\n```onnx\n{RELU}```\n", "must be below '## Fires'", "```onnx"),
        (f"## Fires\n```onnx\n{RELU}", "is not closed", "```onnx"),
        (f"## Fires\n```onnx --trt 10.99\n{RELU}```\n", "10.99 does not exist", "```onnx --trt"),
        (f"## Fires\n```onnx --fp61\n{RELU}```\n", "unknown option '--fp61'", "```onnx --fp61"),
        (f"## Fires\n```onnx fp16\n{RELU}```\n", "unknown option 'fp16'", "```onnx fp16"),
    ],
)
def test_an_example_that_cannot_be_understood(tmp_path: Path, text: str, message: str, line: str) -> None:
    rule = make_rule(tmp_path, text)
    with pytest.raises(RuleError, match=message) as caught:
        examples(rule)
    assert rule.path.read_text().split("\n")[caught.value.line - 1].startswith(line)


def test_other_code_in_the_documentation_is_no_example(tmp_path: Path) -> None:
    text = "```python\nprint(1)\n## Fires\n```\n" + body(RELU, TANH)
    assert len(examples(make_rule(tmp_path, text))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("path", rule_files(builtin_rules()), ids=lambda path: path.stem)
def test_the_examples_of_the_rules_that_come_with_trtlint(path: Path) -> None:
    results = list(run_examples(load_rules([path])))
    assert len(results) >= 2
    assert [str(result) for result in results if not result.ok] == []
