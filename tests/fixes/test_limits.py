"""Tests of resource limits for fixes of untrusted models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.fixes.fixing import fixed
from trtlint.cli import run
from trtlint.compare.comparison import available
from trtlint.files.limits import Allowance
from trtlint.fixes import proof, proposer, session, source
from trtlint.fixes.outcome import Proof
from trtlint.fixes.patch import Patch
from trtlint.fixes.region import Region
from trtlint.fixes.rewrites import write_out_quantized
from trtlint.model.load import Model
from trtlint.process import fork as forked

FOLDED = """< ir_version: 8, opset_import: ["" : 20] > g (float[1,1,4,4] x) => (float[1,1,4,4] y)
< float[1,1,1,1] k = {1} >
{ t = Constant <value_string = "%s"> ()  m = RegexFullMatch <pattern = "(a|aa)+b"> (t)
  f = Cast <to = 1> (m)  w = Mul (k, f)  y = Conv (x, w) }""" % ("a" * 120)
"""A weight whose expression needs exponential matching time."""
PRODUCT = """< ir_version: 8, opset_import: ["" : 17] >
g (uint8[30000,1] a, uint8[1,40000] b) => (float[30000,40000] y)
{ p = MatMulInteger (a, b)  y = Cast <to = 1> (p) }"""


@pytest.mark.slow
@pytest.mark.isolated
def test_a_weight_that_takes_forever_to_compute_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(forked, "_SECONDS", 1)
    fixed(tmp_path, FOLDED, "--trt", "10.8", "--select", "PERF102")
    assert "the computation exceeded the limit of 1 s" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.isolated
@pytest.mark.skipif(not available(), reason="onnxruntime is not installed")
def test_a_proof_that_takes_too_much_memory_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MEMORY", 600 << 20)
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(PRODUCT), path)
    assert run(["fix", str(path), "--trt", "10.8", "--isolated", "--verify"]) == 1
    out = capsys.readouterr().out
    assert "could not check the changed nodes alone: the computation exceeded the limit of 600 MB" in out
    assert "outputs: not proven: the comparison exceeded the memory limit of 600 MB" in out
    assert path.with_name("model.fixed.onnx").exists()


def test_limits_grow_with_the_file_and_its_external_data(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > g (float[64] x) => (float[64] y) { y = Add (x, w) }'
    )
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(64, np.float32), "w"))
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    small = source.read_source(path).allowance()
    with (tmp_path / "w.bin").open("r+b") as file:
        file.truncate(1 << 30)  # without taking room
    read = source.read_source(path)
    large = read.allowance()
    assert (small.seconds, small.memory) == (source.SECONDS, source.MEMORY)
    assert read.external == 1 << 30
    assert large.seconds > 500
    assert large.memory >= small.memory


@pytest.mark.parametrize(("less", "rewrites"), [(0.0, True), (0.5, False)])
def test_what_is_left_of_the_time_is_not_spent_on_rewrites(
    less: float,
    rewrites: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Part of the time is reserved for the checks after the rewrites."""
    monkeypatch.setattr(Allowance, "left", property(lambda self: session._RESERVE * self.seconds - less))
    _, after = fixed(tmp_path, "".join(QUANTIZED), "--trt", "10.7", "--select", "BLD201,BLD217")
    assert (after is not None) is rewrites
    assert (
        "trtlint had almost reached the limit of 55 s of processor time" in capsys.readouterr().out
    ) is not rewrites


QUANTIZED = (
    '< ir_version: 8, opset_import: ["" : 17] > g (float[1,4,8,8] x) => (float[1,4,8,8] y)\n',
    "< float s = {0.1}, uint8 z = {128}, uint8[4,4,1,1] w = {" + ", ".join("7" * 16) + "} >\n",
    "{ q0 = QuantizeLinear (x, s, z)\n",
    *(f"q{i + 1} = QLinearConv (q{i}, s, z, w, s, z, s, z)\n" for i in range(12)),
    "y = DequantizeLinear (q12, s, z) }",
)


def test_what_is_connected_is_rewritten_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each of twelve places would request a rewrite of all twelve."""
    calls: list[object] = []

    def propose(fact: object, model: object) -> object:
        calls.append(fact)
        return write_out_quantized.propose(fact, model)  # type: ignore[arg-type]

    monkeypatch.setattr(
        session, "proposer", lambda name: propose if name == "write-out-quantized" else proposer(name)
    )
    _, after = fixed(tmp_path, "".join(QUANTIZED), "--trt", "10.7", "--select", "BLD201,BLD217")
    assert after is not None
    assert len(calls) == 1


BLOCKS = """< ir_version: 8, opset_import: ["" : 17] > g (float16[2,8] x) => (float16[2,8] y)
< float16 one = {15360}, float16 two = {16384} > { %s y = Tanh (t%d) }"""


def test_places_that_are_alike_are_proven_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[Patch] = []
    real = proof._compared

    def compared(model: Model, patch: Patch, region: Region) -> Proof:
        calls.append(patch)
        return real(model, patch, region)

    monkeypatch.setattr(proof, "_compared", compared)
    monkeypatch.setattr(proof, "_proven", {})
    count = 6
    body = "".join(
        f"e{i} = Exp (t{i - 1})  a{i} = Add (e{i}, one)  l{i} = Log (a{i})  t{i} = Tanh (l{i})\n"
        for i in range(count)
    )
    model = BLOCKS % (body.replace("t-1", "x"), count - 1)
    fixed(tmp_path, model, "--trt", "11.4", "--select", "ACC115", "--verify", "--format", "json")
    (found,) = json.loads(capsys.readouterr().out)["models"]
    assert [each["proof"]["equal"] for each in found["applied"]] == [True] * count
    assert len(calls) == 1
