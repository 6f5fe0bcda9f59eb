"""Effect of sizes fixed at export on models with a dynamic dimension."""

from __future__ import annotations

import numpy as np

from benchmarks.rule_checks.check import Check
from benchmarks.rule_checks.numbers import run
from benchmarks.rule_checks.rtx import Size, ask

_INCONSISTENT = "values are not self-consistent"


def _text(body: str, stored: str) -> str:
    return f"""< ir_version: 8, opset_import: ["" : 17] >
    g (float[n,4,6] x) => (float[A,B,C] y) < {stored} > {{ {body} }}"""


RESHAPE = _text("y = Reshape (x, t)", "int64[3] t = {2, 8, 3}")
TILE = _text(
    "e = Tile (c, t) y = Concat <axis = 1> (e, x)",
    "int64[3] t = {2, 1, 1}, float[1,1,6] c = {1, 2, 3, 4, 5, 6}",
)
MIXED = _text("y = Reshape (x, t)", "int64[3] t = {1, 4, -1}")
SPLIT = _text("y = Reshape (x, t)", "int64[3] t = {-1, 2, 12}")


SORT = """< ir_version: 10, opset_import: ["" : 18] >
g (float[1,n] x) => (float[1,A] y, int64[1,B] i) { k = Shape <start = 1, end = 2> (x) y, i = TopK (x, k) }"""


def _complains(model: str, size: Size) -> bool:
    answer = ask(model, size=size)
    assert answer.built
    return answer.says(_INCONSISTENT)


def _fixed() -> bool:
    return _complains(RESHAPE, (1, 2, 4)) and not _complains(RESHAPE, (2, 2, 2))


def _in_silence() -> bool:
    return not _complains(MIXED, (1, 2, 4)) and not _complains(TILE, (1, 2, 4))


def _keeps_apart(model: str) -> bool:
    """Return whether a batch of two images gives the same results as each image alone."""
    images = np.random.default_rng(1).standard_normal((2, 4, 6)).astype(np.float32)
    together = run(model, x=images)
    alone = [run(model, x=image[None]) for image in images]
    joined = np.concatenate(alone)
    return together.shape == joined.shape and bool(np.array_equal(together, joined))


CHECKS = [
    Check(
        "BLD218",
        "TopK with a profile up to 5,000 is built with a message about its values",
        "builder",
        lambda: _complains(SORT, (1, 9, 5000)),
    ),
    Check(
        "BLD218",
        "TopK with a profile up to 3,840 is built without a message about its values",
        "builder",
        lambda: not _complains(SORT, (1, 9, 3840)),
    ),
    Check("ACC110", "a profile with other sizes than the traced size gives a message", "builder", _fixed),
    Check(
        "ACC110",
        "a Reshape to the traced batch and -1, or a joined Tile, gives no message",
        "builder",
        _in_silence,
    ),
    Check(
        "ACC110",
        "a Reshape to the traced batch and -1 mixes images",
        "numbers",
        lambda: not _keeps_apart(MIXED),
    ),
    Check(
        "ACC110",
        "a Reshape with -1 in the place of the batch does not mix images",
        "numbers",
        lambda: _keeps_apart(SPLIT),
    ),
]
