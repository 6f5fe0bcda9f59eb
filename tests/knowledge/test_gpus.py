"""Tests of GPU names as users type them."""

from __future__ import annotations

import pytest

from trtlint.knowledge.gpus import architectures, near_gpus
from trtlint.target.parsing import TargetError, parse_gpu


@pytest.mark.parametrize(
    ("text", "sm", "name"),
    [
        ("4090", 89, "RTX 4090"),
        ("rtx4090", 89, "rtx4090"),
        ("RTX 4090", 89, "RTX 4090"),
        ("4070 ti super", 89, "RTX 4070 ti super"),
        ("3080 Ti", 86, "RTX 3080 Ti"),
        ("1660", 75, "GTX 1660"),
        ("5090", 120, "RTX 5090"),
        ("Orin Nano", 87, "Orin Nano"),
        ("Jetson AGX Orin", 87, "Jetson AGX Orin"),
        ("Jetson AGX Orin 64GB", 87, "Jetson AGX Orin"),
        ("A10G", 86, "A10G"),
        ("g5.xlarge", 86, "A10G"),
        ("a3-highgpu-8g", 90, "H100"),
        ("a3-ultragpu-8g", 90, "H200"),
        ("p6-b200.48xlarge", 100, "B200"),
        ("g4dn.12xlarge", 75, "T4"),
        ("p5en.48xlarge", 90, "H200"),
        ("g2-standard-4", 89, "L4"),
        ("RTX 3080 Ti Laptop GPU", 86, "RTX 3080 Ti Laptop GPU"),
        ("RTX 5070 Ti Laptop GPU", 120, "RTX 5070 Ti Laptop GPU"),
        ("RTX 2070 with Max-Q Design", 75, "RTX 2070 with Max-Q Design"),
        ("NVIDIA RTX A2000 Laptop GPU", 86, "RTX A2000"),
        ("NVIDIA RTX 4000 Ada Generation Laptop GPU", 89, "RTX 4000 Ada"),
        ("Quadro RTX 5000 with Max-Q Design", 75, "Quadro RTX 5000"),
        ("NVIDIA RTX 3500 Ada Generation Laptop GPU", 89, "RTX 3500 Ada"),
        ("Orin (nvgpu)", 87, "Orin"),
        ("NVIDIA Tegra X2", 62, "Tegra X2"),
        ("GRID T4-16Q", 75, "T4"),
        ("NVIDIA A10-24Q", 86, "A10"),
        ("NVIDIA A16-2B", 86, "A16"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", 80, "A100"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", 90, "H100"),
        ("GRID A100-1-5C", 80, "A100"),
        ("NVIDIA A30-2-12C", 80, "A30"),
    ],
)
def test_what_people_type_is_known(text: str, sm: int, name: str) -> None:
    gpu = parse_gpu(text)
    assert (gpu.sm, gpu.name) == (sm, name)


@pytest.mark.parametrize(
    ("text", "near"), [("RTX 7090", "RTX"), ("rtx9999", "RTX"), ("Orin Mini", "Orin"), ("H150", "H")]
)
def test_an_unknown_one_gets_names_of_its_own_series(text: str, near: str) -> None:
    found = near_gpus(text)
    assert found
    assert all(near in name for name in found)
    with pytest.raises(TargetError, match="nearest: "):
        parse_gpu(text)


@pytest.mark.parametrize("text", ["g5", "4095", "g4ad.xlarge", "", "x" * 5000, "1.xlarge"])
def test_what_is_no_gpu_is_refused(text: str) -> None:
    with pytest.raises(TargetError):
        parse_gpu(text)


def test_the_gpu_of_an_instance_is_known() -> None:
    for entry in architectures():
        assert {parse_gpu(name).sm for name in entry.instances.values()} <= {entry.sm}
