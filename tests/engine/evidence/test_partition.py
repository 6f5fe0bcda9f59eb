"""Tests of the partition in an ONNX Runtime log against the predicted one."""

from __future__ import annotations

from typing import Any

import pytest

from trtlint.buildfiles.ortlog import NodePlacement, OrtLog
from trtlint.engine.evidence.partition import _compared, _explained
from trtlint.partition.result import Border, Partition, RemainingNode, Split

TWO = Partition(
    "tensorrt",
    "predicted",
    (("a", "b"), ("d",)),
    (RemainingNode("c", "Unique"), RemainingNode("m/e", "NonZero")),
)
C, E = NodePlacement("Unique", "c"), NodePlacement("NonZero", "e")
UNNAMED = NodePlacement("Cast", "")
ADDED = NodePlacement("Cast", "InsertedPrecisionFreeCast")
FULL = NodePlacement("NonZero", "m/e")


@pytest.mark.parametrize(
    ("parts", "others", "standing", "left"),
    [
        (None, None, "open", None),
        (2, None, "confirmed", None),
        (1, None, "refuted", None),
        (3, None, "refuted", None),
        (None, (C, E), "confirmed", ["c", "e"]),
        (2, (C, E), "confirmed", ["c", "e"]),
        (3, (C, E), "refuted", ["c", "e"]),
        (2, (C, FULL), "confirmed", ["c", "m/e"]),
        (2, (C, E, ADDED, UNNAMED), "confirmed", ["c", "e", "InsertedPrecisionFreeCast", "Cast"]),
        (2, (C,), "refuted", ["c"]),
        (2, (C, UNNAMED), "refuted", ["c", "Cast"]),
        (2, (), "refuted", []),
    ],
)
def test_a_log_and_the_prediction(
    parts: int | None, others: tuple[NodePlacement, ...] | None, standing: str, left: list[str] | None
) -> None:
    log = OrtLog("TensorRT", parts, others, 3, 17)
    expected: dict[str, Any] = {"line": 17, "parts": parts, "left": left, "copies": 3, "standing": standing}
    assert _compared(log, TWO) == expected


def test_a_simulation_gets_the_reasons_of_the_prediction() -> None:
    predicted = Partition(
        "tensorrt",
        "predicted",
        (("a",),),
        (RemainingNode("b", "Unique", "no Unique", ("BLD201",)), RemainingNode("d", "NonZero", "no NonZero")),
        folded=("z",),
        borders=(Border("v", 4),),
        splits=(Split("Unique", ("b",)), Split("NonZero", ("d",)), Split("Mod", ("b", "d"))),
        failure="fails",
    )
    simulated = Partition(
        "tensorrt",
        "parser",
        (("a", "d"),),
        (RemainingNode("b", "MyUnique"), RemainingNode("e", "Mod")),
        calls=3,
    )
    found = _explained(simulated, predicted)
    assert found == Partition(
        "tensorrt",
        "parser",
        (("a", "d"),),
        (
            RemainingNode("b", "MyUnique", "no Unique", ("BLD201",)),
            RemainingNode("e", "Mod", "NVIDIA's parser refuses the operator"),
        ),
        folded=("z",),
        borders=(Border("v", 4),),
        splits=(Split("Unique", ("b",)), Split("Mod", ("b", "d"))),
        failure="fails",
        calls=3,
    )
