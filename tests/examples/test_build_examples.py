"""Tests of examples of build rules: logs, engine layers and times in a rule file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.rules import make_rule
from trtlint.engine.evaluate import evaluate
from trtlint.engine.rule import RuleError
from trtlint.examples.rules import ExampleResult, examples, run_examples
from trtlint.facts.facts import Facts
from trtlint.language.template import in_words
from trtlint.target.target import Target

NORM = "[W] Detected layernorm nodes in FP16."
OTHER = "[V] Parsing node: a [Relu]"
LAYERS = '{"Layers": [{"Name": "a", "LayerType": "CaskConvolution"}]}'
TIMES = '[{"count": 1}, {"name": "a", "timeMs": 1, "averageMs": 1.0, "percentage": 100}]'
MODEL = """\
< ir_version: 8, opset_import: ["" : 17] >
g (float[2] x) => (float[2] y) { [a] y = Relu(x) }"""


def blocks(*parts: tuple[str, str]) -> str:
    return "".join(f"```{info}\n{text}\n```\n" for info, text in parts)


def run(folder: Path, fires: str, silent: str, **front: str | None) -> list[ExampleResult]:
    front = {"message": "a message", **front}
    body = f"## Fires\n{fires}\n## Stays silent\n{silent}"
    return list(run_examples([make_rule(folder, body, **front)]))


def test_a_log(tmp_path: Path) -> None:
    results = run(
        tmp_path,
        blocks(("log", NORM)),
        blocks(("log", OTHER)),
        find="log_message",
        where='name == "norm_fp16"',
    )
    assert [result.got for result in results] == ["fires", "silent"]
    assert "build.log:1" in results[0].detail


def test_layers_and_their_times_are_one_example(tmp_path: Path) -> None:
    together = blocks(("layers", LAYERS), ("profile", TIMES))
    apart = blocks(("layers", LAYERS)) + "and, in another build:\n" + blocks(("profile", TIMES))
    results = run(tmp_path, together, apart, find="layer", where="ms > 0.5")
    assert [result.got for result in results] == ["fires", "silent", "silent"]


def test_blocks_of_one_kind_are_examples_of_their_own(tmp_path: Path) -> None:
    results = run(
        tmp_path,
        blocks(("log", NORM), ("log", NORM)),
        blocks(("log", OTHER)),
        find="log_message",
        where='name == "norm_fp16"',
    )
    assert [result.expected for result in results] == ["fires", "fires", "silent"]


def test_a_model_and_the_log_of_its_build(tmp_path: Path) -> None:
    log = "[W] Detected layernorm nodes in FP16: a"
    front = {
        "find": "log_message",
        "where": 'name == "norm_fp16" and ops == ("Relu",)',
        "applies": "{tensorrt-rtx: '*'}",
    }
    results = run(tmp_path, blocks(("onnx --rtx 1.7", MODEL), ("log", log)), blocks(("onnx", MODEL)), **front)
    assert [result.got for result in results] == ["fires", "silent"]


def test_what_the_log_says_is_the_target(tmp_path: Path) -> None:
    banner = "&&&& RUNNING TensorRT.trtexec [TensorRT v100700] # trtexec --onnx=m.onnx\n"
    front = {"find": "log_message", "where": 'name == "norm_fp16"', "applies": '{tensorrt: ">=10.7,<10.8"}'}
    fires = blocks(("log", banner + NORM))
    silent = blocks(("log", banner.replace("100700", "100800") + NORM))
    assert [result.got for result in run(tmp_path, fires, silent, **front)] == ["fires", "silent"]


def test_an_engine(tmp_path: Path) -> None:
    front = {"find": "build", "where": 'plan_version == "10.7.0"'}
    fires, silent = blocks(("plan", "tensorrt 10.7.0")), blocks(("plan", "tensorrt 10.8.0"))
    assert [result.got for result in run(tmp_path, fires, silent, **front)] == ["fires", "silent"]


@pytest.mark.parametrize(
    ("info", "text"),
    [("layers", '{"Layers": ['), ("profile", "[1]"), ("plan", "tensorflow 2"), ("layers", "{}")],
)
def test_a_block_that_is_not_what_tensorrt_writes(tmp_path: Path, info: str, text: str) -> None:
    results = run(tmp_path, blocks((info, text)), blocks(("log", OTHER)), find="layer", where="reformat")
    assert results[0].got == "unreadable"


def test_a_log_must_stand_in_a_section(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, "# Title\n" + blocks(("log", NORM)), message="m", find="log_message")
    with pytest.raises(RuleError, match="must be below '## Fires'"):
        examples(rule)


def test_a_place_is_left_to_a_rule_that_tells_of_it(tmp_path: Path) -> None:
    from tests.facts.builds import facts_of_build

    layers = '{"Layers": [{"Name": "a", "LayerType": "PointWise"}, {"Name": "b", "LayerType": "PointWise"}]}'
    model = MODEL.replace("{ [a] y = Relu(x) }", "{ [a] z = Relu(x) [b] y = Tanh(z) }")
    facts = facts_of_build(layers=layers, model=model)
    graph = make_rule(tmp_path, where='op == "Relu"')
    front = {"id": "TST002", "name": "of-layers", "find": "layer", "message": "m"}
    alone = make_rule(tmp_path, **front)
    yielding = make_rule(tmp_path, **front, yields="[TST001]")

    def places(*rules: object) -> list[tuple[str, int]]:
        report = evaluate(rules, facts, Target(version="10.8"))  # type: ignore[arg-type]
        return sorted((finding.rule, len(finding.sites)) for finding in report.findings)

    assert places(graph, alone) == [("TST001", 1), ("TST002", 2)]
    assert places(yielding, graph) == [("TST001", 1), ("TST002", 1)]
    assert places(yielding) == [("TST002", 2)]


def test_ids_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="yields"):
        make_rule(tmp_path, yields="[everything]")


def test_of_a_long_list_a_message_prints_the_first() -> None:
    names = tuple(f"n{i}" for i in range(20))
    assert in_words(names[:12]).count(",") == 11
    assert in_words(names).endswith("n11 and 8 more")


def test_no_build_no_findings_about_one(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, find="log_message", message="m")
    assert evaluate([rule], Facts(None), Target(version="10.8")).findings == ()
