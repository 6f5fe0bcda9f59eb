"""Two models that are made alike before they are compared."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from trtlint.compare.alike import RandomError, alike

RANDOM = "r = RandomNormal <shape = [2]> ()"
TEXT = """< ir_version: 8, opset_import: ["" : 17] >
g (bool c, float[2] x) => (float[2] y) {
  y = If (c) <
    then_branch = t () => (float[2] v) { %s  v = Add (x, r) },
    else_branch = e () => (float[2] v) { %s  v = Sub (x, r) }
  >
}"""


def test_draws_of_two_bodies_under_one_name_are_two(tmp_path: Path) -> None:
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(onnx.parser.parse_model(TEXT % (RANDOM, RANDOM)), before)
    onnx.save(onnx.parser.parse_model(TEXT % (RANDOM, "r = Neg (x)")), after)
    with pytest.raises(RandomError):
        alike(before, after, tmp_path)


def test_operators_of_other_domains_draw_no_random_numbers(tmp_path: Path) -> None:
    for domain, random in (("my.", False), ("", True)):
        path, folder = tmp_path / f"{random}.onnx", tmp_path / f"copies-{random}"
        folder.mkdir()
        text = (
            '< ir_version: 8, opset_import: ["" : 17, "my" : 1] > g (float[2] x) => (float[2] y) '
            f"{{ r = {domain}RandomNormalLike (x) y = Add (x, r) }}"
        )
        onnx.save(onnx.parser.parse_model(text), path)
        found = alike(path, path, folder)
        assert found.random is random
        assert (found.before == path) is not random
