"""Tests of Resize and GridSample layers against ONNX's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx.reference.ops import load_op

from trtlint.network.layers import Layer, NotComputedError
from trtlint.network.sampling import LAYERS

COORDINATES = {
    "ASYMMETRIC": "asymmetric",
    "ALIGN_CORNERS": "align_corners",
    "HALF_PIXEL": "half_pixel",
}
ROUNDINGS = {
    "FLOOR": "floor",
    "CEIL": "ceil",
    "HALF_UP": "round_prefer_ceil",
    "HALF_DOWN": "round_prefer_floor",
}
SIZES = [(1, 2, 3, 7), (1, 2, 9, 4), (1, 2, 4, 5), (1, 2, 1, 2)]


def image(*shape: int) -> Any:
    """Return random FP32 numbers."""
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def computed(kind: str, settings: dict[str, Any], *inputs: Any, output: str = "FLOAT") -> Any:
    """Return the output of a layer."""
    return LAYERS[kind](Layer(0, "layer", kind, (), (), (output,), settings), inputs)[0]


def resized(x: Any, sizes: Any, scales: Any = None, **attributes: Any) -> Any:
    """Return the result of ONNX's reference."""
    given = None if scales is None else np.asarray(scales, np.float32)
    wanted = None if sizes is None else np.asarray(sizes, np.int64)
    return load_op("", "Resize", 19).eval(x, None, given, wanted, **attributes)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_nearest_elements(sizes: tuple[int, ...], coordinates: str, rounding: str) -> None:
    x = image(1, 2, 4, 5)
    settings = {
        "resize_mode": "NEAREST",
        "coordinate_transformation": coordinates,
        "nearest_rounding": rounding,
    }
    expected = resized(
        x,
        sizes,
        mode="nearest",
        coordinate_transformation_mode=COORDINATES[coordinates],
        nearest_mode=ROUNDINGS[rounding],
    )
    np.testing.assert_array_equal(computed("RESIZE", {**settings, "shape": sizes}, x), expected)
    np.testing.assert_array_equal(computed("RESIZE", settings, x, np.array(sizes)), expected)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(
    ("settings", "attributes"),
    [
        ({"resize_mode": "LINEAR"}, {"mode": "linear"}),
        ({"resize_mode": "CUBIC"}, {"mode": "cubic"}),
        (
            {"resize_mode": "CUBIC", "cubic_coeff": -0.5, "exclude_outside": True},
            {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1},
        ),
    ],
)
def test_interpolated_elements(
    sizes: tuple[int, ...], coordinates: str, settings: dict[str, Any], attributes: dict[str, Any]
) -> None:
    x = image(1, 2, 4, 5)
    found = computed("RESIZE", {**settings, "coordinate_transformation": coordinates}, x, np.array(sizes))
    expected = resized(x, sizes, coordinate_transformation_mode=COORDINATES[coordinates], **attributes)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["NEAREST", "LINEAR"])
def test_scales_are_used_as_they_are(mode: str) -> None:
    x, scales = image(1, 2, 3, 5), (1.0, 1.4, 2.5, 0.7)
    found = computed("RESIZE", {"resize_mode": mode, "scales": scales}, x)
    expected = resized(
        x,
        None,
        scales,
        mode=mode.lower(),
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    assert found.shape == (1, 2, 7, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_an_input_with_sizes_wins_over_scales() -> None:
    row = np.arange(4, dtype=np.float32)
    settings = {"scales": (3.0,), "shape": (9,)}
    assert computed("RESIZE", settings, row, np.array([2])).tolist() == [0, 2]
    assert computed("RESIZE", settings, row, None).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert computed("RESIZE", {**settings, "scales": ()}, row).tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 3]


def test_the_single_element_of_an_axis_is_its_first_where_the_layer_selects_it() -> None:
    row = np.arange(4, dtype=np.float32)
    settings = {"coordinate_transformation": "HALF_PIXEL", "nearest_rounding": "HALF_UP"}
    assert computed("RESIZE", settings, row, np.array([1])).tolist() == [2]
    upper = {**settings, "selector_for_single_pixel": "UPPER"}
    assert computed("RESIZE", upper, row, np.array([1])).tolist() == [0]
    assert computed("RESIZE", upper, row, np.array([2])).tolist() == [1, 3]


def test_interpolated_whole_numbers_are_rounded() -> None:
    row = np.array([0, 3], np.int32)
    settings = {"resize_mode": "LINEAR", "coordinate_transformation": "ALIGN_CORNERS"}
    assert computed("RESIZE", settings, row, np.array([4]), output="INT32").tolist() == [0, 1, 2, 3]
    assert computed("RESIZE", settings, row, np.array([3]), output="INT32").tolist() == [0, 2, 3]
    half = row.astype(np.float16)
    assert computed("RESIZE", settings, half, np.array([3]), output="HALF").tolist() == [0, 1.5, 3]


@pytest.mark.parametrize(
    ("shape", "sizes", "result"),
    [((2, 3), (0, 3), (0, 3)), ((2, 3), (0, 5), (0, 5)), ((0, 3), (0, 6), (0, 6)), ((3, 2), (6, 0), (6, 0))],
)
def test_empty_results(shape: tuple[int, ...], sizes: tuple[int, ...], result: tuple[int, ...]) -> None:
    assert computed("RESIZE", {}, np.ones(shape, np.float32), np.array(sizes)).shape == result


@pytest.mark.parametrize(
    ("kind", "settings", "shape", "reason"),
    [
        ("RESIZE", {"shape": (1, 3)}, (0, 3), "a resize of an empty tensor"),
        ("RESIZE", {}, (2, 3), "a resize without sizes"),
        ("RESIZE", {"scales": (2.0,)}, (2, 3), "a resize without sizes"),
        ("RESIZE", {"shape": (2, 4), "resize_mode": "AREA"}, (2, 3), "a resize of mode AREA"),
        ("GRID_SAMPLE", {"sample_mode": "WRAP"}, (1, 1, 2, 2), "grid samples of mode WRAP"),
    ],
)
def test_resizes_that_are_not_computed(
    kind: str, settings: dict[str, Any], shape: tuple[int, ...], reason: str
) -> None:
    with pytest.raises(NotComputedError, match=f"^{reason}$"):
        computed(kind, settings, np.ones(shape, np.float32))


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize(
    ("mode", "outside", "padding"),
    [
        ("LINEAR", "FILL", "zeros"),
        ("LINEAR", "CLAMP", "border"),
        ("LINEAR", "REFLECT", "reflection"),
        ("NEAREST", "CLAMP", "border"),
        ("CUBIC", "FILL", "zeros"),
    ],
)
def test_grid_samples(corners: bool, mode: str, outside: str, padding: str) -> None:
    x, grid = image(1, 2, 4, 5), image(1, 3, 3, 2)
    settings = {"interpolation_mode": mode, "sample_mode": outside, "align_corners": corners}
    expected = load_op("", "GridSample", 20).eval(
        x, grid, mode=mode.lower(), padding_mode=padding, align_corners=int(corners)
    )
    found = computed("GRID_SAMPLE", settings, x, grid)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    halves = computed("GRID_SAMPLE", settings, x.astype(np.float16), grid, output="HALF")
    assert halves.dtype == np.float16
