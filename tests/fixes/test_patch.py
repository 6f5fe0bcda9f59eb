"""What a patch is written with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from trtlint.fixes.patch import Draft
from trtlint.model.load import load


@pytest.mark.parametrize("size", [2, 1000])
def test_constants_are_written_once_and_never_for_one_another(size: int, tmp_path: Path) -> None:
    text = '< ir_version: 8, opset_import: ["" : 17] > g (float[2] x) => (float[2] y) { y = Neg (x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    model = load(tmp_path / "m.onnx")
    draft = Draft(model, model.graph.nodes[0])
    ones, twos = (draft.constant(np.full(size, number, np.float32)) for number in (1, 2))
    again = draft.constant(np.ones(size, np.float32))
    tensors = {t.name: onnx.numpy_helper.to_array(t)[0] for t in draft.patch("writes", []).initializers}
    assert [tensors[name] for name in (ones, twos, again)] == [1, 2, 1]
    assert (ones == again) is (size == 2)
