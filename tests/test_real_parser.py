"""Tests of small models against NVIDIA's parser and builder, where installed.

The wheel tensorrt-rtx-cu12 runs without a GPU, for a GPU that is named.  It can crash, so it works in a
process of its own; ``TRTLINT_RTX_PYTHON`` names a Python that has it, this one if left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import onnx
import pytest

from benchmarks.parser_verdicts import answer
from tests.linting import lint_file
from tests.sampling import sample
from trtlint.engine.rulebook import load_builtin
from trtlint.examples.conditions import read_example, texts_of
from trtlint.examples.models import model_of_text
from trtlint.facts.blocks.conditions import ConditionEntry, entries
from trtlint.knowledge.parsers import lines_of
from trtlint.target.target import Target

PYTHON = os.environ.get("TRTLINT_RTX_PYTHON", sys.executable)

CHILD = """
import json, os, sys
import tensorrt_rtx_bindings as trt
if len(sys.argv) == 1:
    print(json.dumps(trt.__version__))
    sys.exit()

def judge(path):
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    if not trt.OnnxParser(network, logger).parse_from_file(path):
        return [False, None]
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    config.set_compute_capability(trt.ComputeCapability.SM89, 0)
    profile = builder.create_optimization_profile()
    for i in range(network.num_inputs):
        tensor = network.get_input(i)
        sizes = [4 if size == -1 else size for size in tensor.shape]
        if tensor.is_shape_tensor:
            count = [1] * (sizes[0] if sizes else 1)
            profile.set_shape_input(tensor.name, count, [2 * n for n in count], [3 * n for n in count])
        elif -1 in tuple(tensor.shape):
            profile.set_shape(tensor.name, sizes, sizes, sizes)
    config.add_optimization_profile(profile)
    return [True, builder.build_serialized_network(network, config) is not None]

for path in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        print(json.dumps(judge(path)), flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:  # some models end the library
        print(json.dumps([False, None]), flush=True)
"""

ATTENTION = """({0}[1,4,16,{1}] q, {0}[1,4,16,{1}] k, {0}[1,4,16,{1}] v) => ({0}[1,4,16,{1}] y)
    {{ y = Attention (q, k, v) }}"""
MODELS = {
    "relu": "(float[4] x) => (float[4] y) { y = Relu (x) }",
    "relu of integers": "(int32[4] x) => (int32[4] y) { y = Relu (x) }",
    "celu in half": "(float16[4] x) => (float16[4] y) { y = Celu (x) }",
    "softmax of int8": "(int8[2,4] x) => (int8[2,4] y) { y = Softmax (x) }",
    "uint16 input": "(uint16[4] x) => (float[4] y) { y = Cast <to = 1> (x) }",
    "uint8 inside": "(uint8[4] x) => (float[4] y) { a = Identity (x) y = Cast <to = 1> (a) }",
    "stored axes": "(float[2,4] x) => (float[2,1] y) <int64[1] a = {1}> { y = ReduceSum (x, a) }",
    "fed axes": "(float[2,4] x, int64[1] a) => (float[2,1] y) { y = ReduceSum (x, a) }",
    "computed axes": """(float[2,4] x) => (float[2,1] y) <int64[1] a = {2}, int64[1] b = {1}>
        { c = Sub (a, b) y = ReduceSum (x, c) }""",
    "computed axes of unsqueeze": """(float[2,4] x) => (float[2,1,4] y) <int64[1] a = {2}, int64[1] b = {1}>
        { c = Sub (a, b) y = Unsqueeze (x, c) }""",
    "vector by batch": "(float[4] x, float[2,4,3] z) => (float[2,3] y) { y = MatMul (x, z) }",
    "attention in float": ATTENTION.format("float", 64),
    "attention in half": ATTENTION.format("float16", 64),
    "attention of 512": ATTENTION.format("float16", 512),
    "one query": """(float[1,4,1,64] q, float[1,4,16,64] k) => (float[1,4,1,64] y)
        { y = Attention (q, k, k) }""",
    "cast to fp8": "(float[4] x) => (float8e4m3fn[4] y) { y = Cast <to = 17> (x) }",
    "zero point": """(float[4] x) => (float[4] y) <float s = {0.5}, int8 z = {3}>
        { q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z) }""",
    "negative scale": """(float[4] x) => (float[4] y) <float s = {-0.5}, int8 z = {0}>
        { q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z) }""",
    "symmetric": """(float[4] x) => (float[4] y) <float s = {0.5}, int8 z = {0}>
        { q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z) }""",
    "top 4000": """(float[1,5000] x) => (float[1,4000] y, int64[1,4000] i) <int64[1] k = {4000}>
        { y, i = TopK (x, k) }""",
    "unknown operator": "(float[3,3] x) => (float y) { y = Det (x) }",
}


@pytest.fixture(scope="module")
def release() -> str:
    """Return the release of the installed parser."""
    done = subprocess.run([PYTHON, "-c", CHILD], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("NVIDIA's parser is not installed (tensorrt-rtx-cu12)")
    version: str = json.loads(done.stdout)
    return ".".join(version.split(".")[:3])


def ask(paths: Iterable[Path]) -> list[list[bool | None]]:
    """Return whether the parser accepts each model, and whether the builder then does."""
    command = [PYTHON, "-c", CHILD, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


@pytest.mark.slow
def test_the_answer_is_the_parsers(release: str, tmp_path: Path) -> None:
    paths = {name: tmp_path / f"{index}.onnx" for index, name in enumerate(MODELS)}
    for name, path in paths.items():
        text = f'< ir_version: 10, opset_import: ["" : 23] > g {MODELS[name]}'
        onnx.save(onnx.parser.parse_model(text), path)
    target = Target(product="tensorrt-rtx", version=release, gpu="L4")
    rules = load_builtin()
    for (name, path), (parsed, built) in zip(paths.items(), ask(paths.values()), strict=True):
        (report,) = lint_file(path, [target], rules)
        assert answer(report, "parse") == ("accepted" if parsed else "refused"), name
        if parsed:
            assert answer(report, "build") == ("accepted" if built else "refused"), name


@pytest.mark.slow
def test_the_examples_of_conditions_are_what_the_parser_says(release: str, tmp_path: Path) -> None:
    line = ".".join(release.split(".")[:2])
    expected: dict[Path, tuple[ConditionEntry, str]] = {}
    for entry in sample(list(entries()), one_of=5):
        refuses = line in lines_of("tensorrt-rtx", entry.condition.applies.get("tensorrt-rtx", "none"))
        if entry.condition.min_sm is not None or not refuses:
            continue
        for word, written in (("refused", entry.refused), ("accepted", entry.accepted)):
            for number, text in enumerate(texts_of(written)):
                if "--" in str(text):  # for a release of its own
                    continue
                path = tmp_path / f"{entry.line}-{word}-{number}.onnx"
                example = read_example(entry.condition.applies, text)
                model_of_text(example.text, path, checked=example.checked)
                expected[path] = (entry, word)
    wrong = [
        f"{entry.line}: {entry.ops}: {word}, but the parser and the builder say {answer}"
        for (entry, word), answer in zip(expected.values(), ask(expected), strict=True)
        if (answer == [True, True]) != (word == "accepted")
    ]
    assert not wrong, "\n".join(wrong)
