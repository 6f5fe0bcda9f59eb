"""Tests of per-layer types in a build command, and of their nodes."""

from __future__ import annotations

from tests.graphs import model_of
from trtlint.buildcommand import find_commands
from trtlint.facts.facts import Facts
from trtlint.facts.of_command.build_command import BuildCommandFact
from trtlint.facts.of_command.layer_spec import LayerSpecFact

NAMED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[n,2] x) => (float[n,2] y)
{
  [body_relu] a = Relu (x)
  [body_tanh] b = Tanh (a)
  [head] y = Relu (b)
}
"""


def facts(options: str, text: str | None = NAMED) -> Facts:
    (command,) = find_commands(f"trtexec --onnx=model.onnx {options}")
    return Facts(None if text is None else model_of(text), command=command)


def counts(options: str, text: str | None = NAMED) -> dict[str, int | None]:
    found = facts(options, text).of("layer_spec")
    return {fact.name: fact.nodes for fact in found if isinstance(fact, LayerSpecFact)}


def test_nodes_are_counted_by_name() -> None:
    options = "--layerPrecisions=head:fp32,body_*:fp32,*:fp16,tail:fp32,ta*:fp32"
    assert counts(options) == {"head": 1, "body_*": 2, "*": 3, "tail": 0, "ta*": 0}


def test_a_node_without_a_name_may_be_meant_by_its_operator_and_a_number() -> None:
    nameless = NAMED.replace("[head] ", "")
    assert counts("--layerPrecisions=Relu_2:fp32,Tanh_1:fp32,Re*:fp32", nameless) == {
        "Relu_2": 1,
        "Tanh_1": 0,
        "Re*": None,
    }


def test_without_a_model_or_a_build_nothing_is_counted() -> None:
    assert counts("--layerPrecisions=head:fp32", None) == {"head": None}
    (command,) = find_commands("trtexec --loadEngine=a.plan --layerPrecisions=head:fp32")
    assert Facts(model_of(NAMED), command=command).of("layer_spec") == ()


def test_patterns_beyond_the_bound_are_not_looked_up() -> None:
    options = "--layerPrecisions=" + ",".join(f"b{i}*:fp32" for i in range(101))
    assert list(counts(options).values()).count(None) == 1


def test_the_command_tells_of_profiles_and_the_dla() -> None:
    def command(options: str) -> BuildCommandFact:
        (fact,) = facts(options).of("build_command")
        assert isinstance(fact, BuildCommandFact)
        return fact

    plain = command("--shapes=x:4x2")
    assert (plain.profiles, plain.varying, plain.dla_core) == (1, (), None)
    two = command(
        "--useDLACore=1 --profile=0 --minShapes=x:1x2 --maxShapes=x:4x2"
        " --profile=1 --minShapes=x:8x2 --maxShapes=x:8x2"
    )
    assert (two.profiles, two.varying, two.dla_core) == (2, ("x",), 1)
    assert command("--useDLACore=-1").dla_core is None
    assert command("--useDLACore=$CORE").dla_core is None
