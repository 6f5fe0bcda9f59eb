"""Tests of size and time estimates for a fixed model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from trtlint.cli import run
from trtlint.fixes.costs import Costs

BEFORE = (1.00, 1.02, 1.01, 1.05, 1.00, 1.30)


@pytest.mark.parametrize(
    ("after", "ratio"),
    [
        ((1.40, 1.41, 1.42, 1.40, 1.45, 1.44), 1.4),
        ((1.19, 1.19, 1.19, 1.19, 1.19, 1.19), None),  # not by a fifth
        ((1.21, 1.00, 1.40, 1.40, 1.40, 1.40), None),  # once it was as fast
        ((1.30, 1.22, 1.21, 1.23, 1.21, 1.21), None),  # two pairs of six say something else
        ((1.40, 1.41), None),  # too few
        ((1.40, 1.40, 1.40, 1.40), None),
        ((1.40, 1.40, 1.40, 1.40, 1.40), 1.4),
        ((1.40, 1.40, 1.40, 1.40, 1.00), None),  # its shortest run is as fast
        ((1.40, 1.40, 1.40, 1.40, 1.19), None),
        ((1.21, 1.40, 1.40, 1.40, 1.20, 1.40), None),  # the factor of the shortest runs is 1.2
        ((1.21, 1.21, 1.40, 1.40, 1.21, 1.21), None),  # a third of the pairs
    ],
)
def test_only_what_is_clear_is_said_of_times(after: tuple[float, ...], ratio: float | None) -> None:
    found = Costs(1, 1, BEFORE, after).slower
    assert found == (None if ratio is None else pytest.approx(ratio))


def test_microseconds_are_not_told() -> None:
    before = tuple(time * 1e-5 for time in BEFORE)
    assert Costs(1, 1, before, (1.4e-5,) * len(BEFORE)).slower is None


@pytest.mark.parametrize(
    ("before", "after", "ratio"),
    [
        ((0.0, 1.0, 1.0, 1.0, 1.0), (2.0,) * 5, None),
        ((1.0,) * 5, (1.5, 1.5, 1.5, 1.5, 1.5), 1.5),
        ((1.0, 1.0, 1.0, 1.0, 1.25), (1.5,) * 5, 1.5),  # one pair of five says something else
        ((1.0, 1.0, 1.0, 1.25, 1.25), (1.5,) * 5, None),
        ((1.0,) * 6, (1.5, 1.5, 1.5, 1.5, 1.5), 1.5),  # as many pairs as the shorter list has
        ((1.0, 2.0, 2.0, 2.0, 2.0), (2.0, 2.4, 2.4, 2.4, 2.4), None),  # its median is 1.2 times the other
        ((2**-14,) * 5, (2**-14 + 5.1e-5,) * 5, (2**-14 + 5.1e-5) * 2**14),
        ((2**-14,) * 5, (2**-14 + 4.9e-5,) * 5, None),
    ],
)
def test_limits_of_what_is_clear(
    before: tuple[float, ...], after: tuple[float, ...], ratio: float | None
) -> None:
    assert Costs(1, 1, before, after).slower == ratio


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (999, "999 bytes"),
        (1000, "1 kB"),
        (1530, "1.53 kB"),
        (999_000, "999 kB"),
        (1_000_000, "1 MB"),
        (12_340_000, "12.3 MB"),
        (999_000_000, "999 MB"),
        (1_000_000_000, "1 GB"),
        (45_600_000_000, "45.6 GB"),
    ],
)
def test_sizes_in_words(size: int, text: str) -> None:
    assert Costs(size, 8 * size).words == [
        f"the fixed file is 8 times as large as the source ({text} before, {_eightfold[size]} after)"
    ]


_eightfold = {
    999: "7.99 kB",
    1000: "8 kB",
    1530: "12.2 kB",
    999_000: "7.99 MB",
    1_000_000: "8 MB",
    12_340_000: "98.7 MB",
    999_000_000: "7.99 GB",
    1_000_000_000: "8 GB",
    45_600_000_000: "365 GB",
}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (2**-10, "977 µs before, 1.95 ms after"),
        (0.001, "1 ms before, 2 ms after"),
        (0.9996, "1 s before, 2 s after"),
        (3.0, "3 s before, 6 s after"),
        (1000.0, "1000 s before, 2000 s after"),
    ],
)
def test_times_in_words(seconds: float, text: str) -> None:
    costs = Costs(0, 0, (seconds, *[seconds * 1.5] * 4), (seconds * 2, *[seconds * 4] * 4))
    assert costs.words == [f"ONNX Runtime needs 2 times as long for the fixed model on this CPU ({text})"]


def test_a_size_below_a_kilobyte_is_in_bytes() -> None:
    assert Costs(153, 3900).words == [
        "the fixed file is 25.5 times as large as the source (153 bytes before, 3.9 kB after)"
    ]


@pytest.mark.parametrize(
    ("sizes", "ratio"),
    [
        ((100_000, 133_000), 1.33),
        ((100_000, 109_000), None),
        ((100_000, 110_000), None),
        ((100_000, 110_001), 1.10001),
        ((1000, 2900), None),
        ((1000, 3047), None),
        ((1000, 3048), 3.048),
        ((1000, 3100), 3.1),
        ((1, 3000), 3000),
        ((0, 3000), None),
    ],
)
def test_growth_is_told_beyond_a_tenth_and_two_kilobytes(sizes: tuple[int, int], ratio: float | None) -> None:
    assert Costs(*sizes).larger == (None if ratio is None else pytest.approx(ratio))


def test_words_and_json() -> None:
    costs = Costs(324_000, 430_000, (0.001,) * 5, (0.0014,) * 5)
    assert costs.words == [
        "the fixed file is 1.33 times as large as the source (324 kB before, 430 kB after)",
        "ONNX Runtime needs 1.4 times as long for the fixed model on this CPU (1 ms before, 1.4 ms after)",
    ]
    assert costs.document == {
        "bytes_before": 324_000,
        "bytes_after": 430_000,
        "seconds_before": 0.001,
        "seconds_after": 0.0014,
        "times_as_large": pytest.approx(430 / 324),
        "times_as_long": pytest.approx(1.4),
    }
    one_side = Costs(0, 0, (0.001,)).document
    assert Costs().words == []
    assert set(Costs().document.values()) == set(one_side.values()) == {None}


@pytest.mark.parametrize("dry", [True, False])
def test_a_file_that_grows_is_told_so(dry: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx.parser.parse_model(
        """< ir_version: 8, opset_import: ["" : 17] > g (float[1,8,64,64] x) => (float[1,1024,64,64] y)
        < float s = {0.1}, uint8 z = {128} >
        { q = QuantizeLinear (x, s, z)  c = QLinearConv (q, s, z, w, s, z, s, z)
          y = DequantizeLinear (c, s, z) }"""
    )
    weight = np.arange(8192, dtype=np.uint8).reshape(1024, 8, 1, 1)
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    words = ["fix", str(path), "--trt", "10.7", "--isolated", "--format", "json", *["--dry-run"] * dry]
    run(words)
    (found,) = json.loads(capsys.readouterr().out)["models"]
    assert found["applied"]
    sizes = found["costs"]
    assert sizes["bytes_before"] == path.stat().st_size
    if not dry:
        assert sizes["bytes_after"] == (tmp_path / "model.fixed.onnx").stat().st_size
    assert sizes["times_as_large"] is not None
    assert sizes["seconds_before"] is None
