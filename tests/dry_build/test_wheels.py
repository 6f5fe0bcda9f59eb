"""Tests of the search for the TensorRT-RTX wheels, and of messages without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dry_build.rtx import NEEDS_WHEELS, VERSION
from trtlint.dry_build.errors import WheelError
from trtlint.dry_build.wheels import find


def install(folder: Path, version: str, *names: str) -> None:
    """Create the files of installed wheels."""
    for name in names:
        info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n", encoding="utf-8")


BOTH = ("tensorrt-rtx-cu12-bindings", "tensorrt-rtx-cu12-libs")


def test_wheels_in_a_folder_are_found(tmp_path: Path) -> None:
    install(tmp_path, "1.4.0.76", *BOTH)
    assert find(None, tmp_path).version == "1.4.0"
    assert find("1.4", tmp_path).folder == str(tmp_path)


def test_another_release_is_refused_with_the_command_for_the_one_wanted(tmp_path: Path) -> None:
    install(tmp_path, "1.4.0.76", *BOTH)
    with pytest.raises(WheelError) as error:
        find("1.5.0", tmp_path)
    assert str(error.value).startswith(f"TensorRT-RTX 1.4.0 is installed in {tmp_path}, not 1.5.0; run pip ")
    assert "tensorrt-rtx-cu12-libs==1.5.0.114" in str(error.value)


def test_one_wheel_is_not_enough(tmp_path: Path) -> None:
    install(tmp_path, "1.4.0.76", BOTH[0])
    with pytest.raises(WheelError, match="pip install --target"):
        find("1.4.0", tmp_path)


def test_a_beginning_of_a_number_is_not_a_beginning_of_its_digits(tmp_path: Path) -> None:
    install(tmp_path, "1.41.0.1", *BOTH)
    with pytest.raises(WheelError, match=r"not 1\.4; run .*==1\.4\.0\.76"):
        find("1.4", tmp_path)


@pytest.mark.parametrize("version", [None, "1.4", "1.4.0", "1.99"])
@pytest.mark.parametrize("given", [True, False])
def test_the_command_installs_into_the_folder_that_is_searched(
    version: str | None, given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a folder, releases are installed side by side. The next option finds them."""
    monkeypatch.setattr("trtlint.dry_build.wheels.metadata.distributions", lambda **_: ())
    with pytest.raises(WheelError) as error:
        find(version, tmp_path if given else None)
    said = str(error.value)
    pins = {None: "", "1.4": "==1.4.0.76", "1.4.0": "==1.4.0.76", "1.99": "==1.99.*"}
    if given or version is not None:
        folder, pin = (str(tmp_path) if given else "DIR"), pins[version]
        command = f"pip install --target {folder} tensorrt-rtx-cu12-libs{pin} tensorrt-rtx-cu12-bindings{pin}"
        assert said.endswith(command if given else f"{command}, then --rtx-path DIR")
    else:
        assert "tensorrt-rtx-cu12-libs" in said
        assert "--target" not in said
    assert (f" wheels in {tmp_path};" in said) == given


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WheelError, match="no such folder"):
        find(None, tmp_path / "none")


@NEEDS_WHEELS
def test_the_wheels_of_this_python_are_found() -> None:
    assert find(VERSION).version == VERSION
