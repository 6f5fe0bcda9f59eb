"""The operators that are kept for their digits: those of one region of floats, and no others."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.conversion.models import saved
from trtlint.conversion._rehearse import _beyond, _compared, _greatest, _ranges
from trtlint.conversion.measuring import Found
from trtlint.conversion.result import ConversionCheck
from trtlint.conversion.run import run
from trtlint.conversion.session import ConversionRequest
from trtlint.measurement.analysis import Findings
from trtlint.measurement.formats import FORMATS
from trtlint.measurement.inputs import Inputs

pytest.importorskip("onnxruntime")

SHAPED = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,8] x) => (float[4,8] y)
< float much = {10000} >
{
  [up] a = Add(x, much) [down] b = Sub(a, much) [first] c = MatMul(b, w)
  s = Shape(b) [shaped] d = Reshape(c, s) [act] e = Relu(d) y = MatMul(e, w)
}
"""
"""An addition that needs digits, whose shape a later operator reads."""


def test_shapes_do_not_join_operators(tmp_path: Path) -> None:
    path = saved(SHAPED, tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", x=np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32))
    found, _ = run(ConversionRequest(path, inputs=Inputs((str(tmp_path / "in.npz"),))), None)
    kept = {each.node for each in found.kept}
    assert {"up", "down"} <= kept
    assert not kept & {"shaped", "act"}
    assert found.share == 1.0


def test_no_run_starts_after_the_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.conversion.run._SECONDS", -1.0)
    found, _ = run(ConversionRequest(saved(SHAPED, tmp_path / "m.onnx")), None)
    assert found.verdict == "unproven"
    assert any("raise the limit with --seconds" in proof.text for proof in found.proofs)


def test_a_search_without_time_leaves_the_last_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(SHAPED, tmp_path / "m.onnx")
    failed = ConversionCheck("rehearsal", "failed", "too large an error", {"error": 1.0})
    searched = iter([Found(enough=True), Found(notes=("no time",))])
    monkeypatch.setattr("trtlint.conversion.session.search_in_process", lambda *_: next(searched))
    monkeypatch.setattr("trtlint.conversion.run.rehearse", lambda *_: failed)
    found, _ = run(ConversionRequest(path), None)
    assert found.verdict == "failed"


@pytest.mark.parametrize(
    ("references", "outputs", "error"),
    [([1000.0, 0.1], [1001.0, 0.11], 0.1), ([1000.0, 0.0], [1001.0, 1.0], 10.0), ([0.0], [0.0], 0.0)],
)
def test_a_batch_of_small_numbers_counts_as_much_as_one_of_large(
    references: list[float], outputs: list[float], error: float
) -> None:
    least = {"y": 1e-4 * max(references)}
    found = [
        _compared({"y": np.array([right], np.float32)}, {"y": np.array([got], np.float32)}, least)["y"] or 0.0
        for right, got in zip(references, outputs, strict=True)
    ]
    assert max(found) == pytest.approx(error)


def trial_with(*probes: tuple[str, str, float | None, bool, bool]) -> Any:
    """A rehearsal of tensors: name, operator, magnitude, whether inside the operator, whether narrow."""
    magnitudes = {name: magnitude for name, _, magnitude, _, _ in probes}
    listed = [
        SimpleNamespace(tensor=name, node=f"n{name}", op=op, inside=inside, narrow=narrow)
        for name, op, _, inside, narrow in probes
    ]
    return SimpleNamespace(
        ranged=SimpleNamespace(probes=listed, greatest=lambda probe: magnitudes[probe.tensor])
    )


TRIAL = trial_with(
    ("a", "Add", 8191.0, False, True),
    ("b", "Add", 8192.0, False, True),
    ("c", "Mul", 9e9, True, True),
    ("d", "Constant", 9e9, False, True),
    ("e", "Input", 9e9, False, True),
    ("f", "Add", 9e9, False, False),
    ("g", "Add", None, False, True),
    ("h", "Pow", 32759.0, False, True),
    ("i", "Pow", 32760.0, False, True),
)


def test_magnitudes_near_the_end_of_the_range_are_reported() -> None:
    assert _greatest(TRIAL) == {"b": 8192.0, "d": 9e9, "e": 9e9, "f": 9e9, "h": 32759.0, "i": 32760.0}
    many = trial_with(*((str(number), "Add", 1e5, False, True) for number in range(10_001)))
    assert len(_greatest(many)) == 10_000


def test_numbers_within_a_factor_of_two_of_the_end_are_beyond_it() -> None:
    found = _beyond(TRIAL, FORMATS["fp16"], Findings(frozenset({"z"}), frozenset({"k"}), frozenset({"m"})))
    assert (found.beyond, found.constants, found.inside) == ({"z", "i"}, {"k"}, {"m", "nc"})


def test_the_operators_with_the_largest_numbers_come_first() -> None:
    found = _ranges(TRIAL)
    assert [each[0] for each in found] == ["nc", "ne", "nf", "ni", "nh", "nb", "na"]
    assert found[0] == ["nc", "Mul", 9e9]
    assert len(_ranges(trial_with(*((str(n), "Add", float(n), False, True) for n in range(50))))) == 40
