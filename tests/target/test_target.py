"""Tests of targets: versions, GPUs, flags and unknown values."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version

from trtlint.errors import ArgumentError
from trtlint.knowledge import data
from trtlint.knowledge.gpus import architectures, gpu_names
from trtlint.knowledge.releases import PRODUCTS, Product, minors, releases
from trtlint.target.flags import Flag
from trtlint.target.parsing import TargetError, check_version, parse_gpu, parse_versions
from trtlint.target.target import Target, first_sm
from trtlint.target.truth import Unknown

TRT, GPU = Unknown(frozenset({"--trt"})), Unknown(frozenset({"--gpu"}))


class TestVersions:
    @pytest.mark.parametrize(
        ("text", "plain"),
        [
            ("10.7", "10.7"),
            ("8.6.1", "8.6.1"),
            ("10.13.3.9", "10.13.3.9"),
            ("10.13.3.9.post1", "10.13.3.9"),
            ("v11.4", "11.4"),
            ("10", "10"),
            (" 9.3 ", "9.3"),
        ],
    )
    def test_known(self, text: str, plain: str) -> None:
        assert check_version(text) == plain

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("10.17", "TensorRT 10.17 does not exist; nearest: 10.16, 11.0"),
            ("12.0", f"TensorRT 12.0 does not exist; nearest: {minors('tensorrt')[-1]}"),
            ("8.5", "TensorRT 8.5 is not supported; use 8.6 or newer"),
            ("9.7", "TensorRT 9.7 does not exist; nearest: 9.3, 10.0"),
            ("10.14.0", "TensorRT 10.14.0 is not a known release; nearest: 10.14.1"),
            ("10.13.1", "not a known release; nearest: 10.13.0, 10.13.2, 10.13.3"),
            ("latest", f"'latest' is not a version of TensorRT; write it as {minors('tensorrt')[-1]}"),
            ("", "'' is not a version"),
            ("x" * 60, f"'{'x' * 60}' is not a version"),
            ("x" * 61, f"'{'x' * 60}...' is not a version"),
            ("10.8rc1", "TensorRT 10.8rc1 is not a known release; nearest: 10.8.0"),
            ("1!10.7", "TensorRT 1!10.7 is not a known release; nearest: 10.7.0"),
            ("1.4", "TensorRT 1.4 is not supported"),
            ("10.8.0.43.1", "not a known release"),
        ],
    )
    def test_unknown(self, text: str, words: str) -> None:
        with pytest.raises(TargetError, match=re.escape(words)):
            check_version(text)

    def test_products_have_their_own(self) -> None:
        assert check_version("1.7.1", "tensorrt-rtx") == "1.7.1"
        with pytest.raises(TargetError, match=re.escape("TensorRT-RTX 10.7 does not exist; nearest: 1.7")):
            check_version("10.7", "tensorrt-rtx")

    def test_ranges_give_release_lines(self) -> None:
        assert parse_versions("10.14..11.2") == ["10.14", "10.15", "10.16", "11.0", "11.1", "11.2"]
        assert parse_versions("8.6..10.1") == ["8.6", "9.0", "9.1", "9.2", "9.3", "10.0", "10.1"]
        assert parse_versions("10.13.2..10.14") == ["10.13", "10.14"]
        assert parse_versions("1.4..1.7", "tensorrt-rtx") == ["1.4", "1.5", "1.6", "1.7"]
        assert parse_versions("10.7") == ["10.7"]
        assert parse_versions("10.13..10.13.0") == ["10.13"]
        assert parse_versions("10.13.3..10.13") == ["10.13"]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("10.8..10.7", "is reversed; write 10.7..10.8"),
            ("10.13.3..10.13.0", "the range 10.13.3..10.13.0 is reversed; write 10.13.0..10.13.3"),
            ("10.7..", f"the range 10.7.. has only one end; write it as 8.6..{minors('tensorrt')[-1]}"),
            (" ..10.7", f"the range  ..10.7 has only one end; write it as 8.6..{minors('tensorrt')[-1]}"),
            ("10.7..10.17", "10.17 does not exist"),
        ],
    )
    def test_ranges_that_are_wrong(self, text: str, words: str) -> None:
        with pytest.raises(TargetError, match=re.escape(words)):
            parse_versions(text)


class TestGpus:
    @pytest.mark.parametrize(
        ("text", "sm"),
        [
            *(
                ("L4", 89),
                ("NVIDIA L4", 89),
                ("l-4", 89),
                ("RTX 4090", 89),
                ("rtx4070ti", 89),
                ("RTX 40", 89),
            ),
            *(("RTX 3080", 86), ("A10G", 86), ("RTX A6000", 86), ("a6000", 86), ("RTX 2050", 86)),
            *(("Jetson AGX Orin", 87), ("orin nx", 87), ("GTX 1660", 75), ("RTX 2080 Ti", 75), ("T4", 75)),
            *(
                ("Quadro RTX 6000", 75),
                ("RTX 6000 Ada", 89),
                ("RTX PRO 6000 Blackwell", 120),
                ("RTX 5070", 120),
            ),
            *(
                ("GeForce RTX 4090 Laptop GPU", 89),
                ("NVIDIA A100-SXM4-80GB", 80),
                ("Tesla V100-PCIE-16GB", 70),
            ),
            *(("NVIDIA H100 80GB HBM3", 90), ("NVIDIA RTX 6000 Ada Generation", 89), ("GTX 1080 Ti", 61)),
            *(("Jetson AGX Orin Developer Kit", 87), ("RTX 2070 Max-Q", 75), ("DGX Spark", 121)),
            *(
                ("sm89", 89),
                ("sm_89", 89),
                ("SM 8.9", 89),
                ("8.9", 89),
                ("89", 89),
                ("sm_90a", 90),
                ("12.0", 120),
            ),
        ],
    )
    def test_known(self, text: str, sm: int) -> None:
        assert parse_gpu(text).sm == sm

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("L5", "unknown GPU 'L5'; nearest: L4"),
            ("RTX 4000", "nearest: RTX A4000"),  # Turing, Ampere or Ada: guessing would be wrong
            ("RTX 6095", "unknown GPU"),
            ("sm88", "SM 8.8 does not exist; nearest: SM 8.7, SM 8.9"),
            ("gpu", "unknown GPU 'gpu'"),
            ("", "unknown GPU"),
        ],
    )
    def test_unknown(self, text: str, words: str) -> None:
        with pytest.raises(TargetError, match=re.escape(words)):
            parse_gpu(text)

    def test_every_name_is_found_and_means_one_gpu(self) -> None:
        for entry in architectures():
            for name in (*entry.names, *entry.families):
                assert parse_gpu(name.upper()).sm == entry.sm
        assert len(gpu_names()) == len({re.sub(r"\W", "", name.casefold()) for name in gpu_names()})

    def test_the_sm_of_a_target_follows_from_the_gpu(self) -> None:
        target = Target(gpu="nvidia l4")
        assert (target.sm, target.gpu) == (89, "L4")
        assert Target(gpu="8.9") == Target(sm=89)
        with pytest.raises(TargetError, match=r"L4 is SM 8\.9, not SM 7\.5"):
            Target(gpu="L4", sm=75)
        with pytest.raises(TargetError, match=r"SM 9\.9 does not exist"):
            Target(sm=99)

    @pytest.mark.parametrize(
        ("version", "gpu", "words"),
        [
            ("10.4", "V100", None),
            ("10.7", "V100", "TensorRT 10.7 does not support SM 7.0 (V100): support ended with 10.4"),
            ("8.6", "L4", None),
            ("10.7", "sm120", "TensorRT 10.7 does not support SM 12.0: support came with 10.8"),
            ("10.8", "sm120", None),
            ("10.13", "Jetson AGX Thor", None),
            ("10.13.2", "sm110", "TensorRT 10.13.2 does not support SM 11.0: support came with 10.13.3"),
            ("10", "V100", None),
            (None, "V100", None),
            ("10.7", None, None),
        ],
    )
    def test_unsupported(self, version: str | None, gpu: str | None, words: str | None) -> None:
        assert Target(version=version, gpu=gpu).gpu_notice == words

    @pytest.mark.parametrize(
        ("version", "gpu", "words"),
        [
            ("1.4", "A100", "SM 8.0 (A100) is not in any support matrix of TensorRT-RTX"),
            ("1.4", "GB10", "TensorRT-RTX 1.4 does not support SM 12.1 (GB10): support came with 1.5"),
            ("1.5", "GB10", None),
            ("1.7", "RTX 5090", None),
        ],
    )
    def test_unsupported_by_tensorrt_rtx(self, version: str, gpu: str, words: str | None) -> None:
        assert Target("tensorrt-rtx", version, gpu=gpu).gpu_notice == words


class TestFlags:
    def test_what_is_not_given_is_unknown(self) -> None:
        target = Target(version="10.7")
        for name in ("fp16", "bf16", "int8", "fp8", "strongly_typed", "tf32"):
            assert getattr(target, name) is None
            assert target.needs(name) == {Target.options[name]}

    def test_given_and_refused(self) -> None:
        target = Target(version="10.7", asked=frozenset({"fp16"}), refused=frozenset({"int8", "tf32"}))
        assert (target.fp16, target.int8, target.bf16, target.tf32) == (True, False, None, False)
        assert target.strongly_typed is False

    @pytest.mark.parametrize(
        "target",
        [
            Target(version="11.0", asked=frozenset({"fp16", "best"})),
            Target("tensorrt-rtx", asked=frozenset({"fp16", "best"})),
            Target(version="10.7", asked=frozenset({"fp16", "best", "strongly-typed"})),
            Target(version="11", refused=frozenset({"strongly-typed"}), asked=frozenset({"fp16"})),
        ],
    )
    def test_precision_flags_do_nothing_in_a_strongly_typed_build(self, target: Target) -> None:
        assert target.strongly_typed is True
        assert [target.fp16, target.bf16, target.int8, target.fp8] == [False] * 4
        assert "fp16" in target.asked

    def test_strong_typing_came_with_9(self) -> None:
        old = Target(version="8.6", asked=frozenset({"strongly-typed", "bf16", "fp16"}))
        assert (old.strongly_typed, old.bf16, old.fp16) == (False, False, True)
        assert Target(version="9.0").strongly_typed is None
        assert Target(version="9.0", asked=frozenset({"strongly-typed"})).strongly_typed is True
        assert Target(version="10.16", refused=frozenset({"strongly-typed"})).strongly_typed is False

    def test_without_a_version_a_flag_is_taken_at_its_word(self) -> None:
        target = Target(asked=frozenset({"fp16"}))
        assert target.fp16 is True
        assert target.strongly_typed is None
        assert target.needs("strongly_typed") == {"--strongly-typed", "--trt"}

    @pytest.mark.parametrize(
        ("sm", "fp16", "bf16", "int8", "fp8"),
        [
            (None, True, None, True, None),
            (89, True, True, True, None),
            (75, True, False, True, False),
            (103, True, True, False, None),
        ],
    )
    def test_best(self, sm: int | None, fp16: bool, bf16: bool | None, int8: bool, fp8: bool | None) -> None:
        target = Target(version="10.16", sm=sm, asked=frozenset({"best"}))
        assert (target.fp16, target.bf16, target.int8, target.fp8) == (fp16, bf16, int8, fp8)
        if sm is None:
            assert target.needs("bf16") == {"--gpu", "--bf16"}

    def test_a_type_that_the_gpu_has_not(self) -> None:
        asked: frozenset[Flag] = frozenset({"bf16", "fp8"})
        assert Target(version="10.7", gpu="T4", asked=asked).bf16 is False
        assert Target(version="10.7", gpu="A100", asked=asked).fp8 is False
        assert Target(version="10.7", gpu="A100", asked=asked).bf16 is True

    def test_tf32_is_on_by_default_from_ampere(self) -> None:
        assert Target(gpu="L4").tf32 is True
        assert Target(gpu="T4").tf32 is False
        assert Target(version="11.4", gpu="L4").tf32 is True
        assert Target(gpu="L4", refused=frozenset({"tf32"})).tf32 is False
        assert Target().needs("tf32") == {"--gpu"}
        rubin = Target(sm=107)  # no source says
        assert rubin.tf32 is None
        assert rubin.needs("tf32") == frozenset()

    def test_names_of_flags_are_forgiving(self) -> None:
        assert Target(asked={"stronglyTyped", "FP16"}).asked == {"strongly-typed", "fp16"}  # type: ignore[arg-type]
        with pytest.raises(TargetError, match="unknown builder setting 'fp61'; did you mean 'fp16'"):
            Target(asked={"fp61"})  # type: ignore[arg-type]
        with pytest.raises(TargetError, match="fp16 is both enabled and disabled"):
            Target(asked=frozenset({"fp16"}), refused=frozenset({"fp16"}))
        with pytest.raises(TargetError, match="unknown product 'trt'; did you mean 'tensorrt'"):
            Target("trt")  # type: ignore[arg-type]


class TestMatches:
    @pytest.mark.parametrize(
        ("version", "specifier", "expected"),
        [
            ("10.7", ">=10.7,<10.8", True),
            ("10.6", ">=10.7,<10.8", False),
            ("10.8", ">=10.7,<10.8", False),
            ("10.7", "==10.7.*", True),
            ("10.13", ">=10.12,<10.14", True),
            ("10.13", ">=10.13.2", TRT),
            ("10.13.0", ">=10.13.2", False),
            ("10.13.3.9", ">=10.13.2", True),
            ("10", ">=10.7", TRT),
            ("10", ">=10.0,<11.0", True),
            ("10.7", "", True),
            ("10.7", "*", True),
            (None, ">=10.7,<10.8", TRT),
            (None, ">=8.6", True),
            (None, ">=12", False),
            (None, "", True),
        ],
    )
    def test_ranges(self, version: str | None, specifier: str, expected: object) -> None:
        assert Target(version=version).matches(specifier) == expected

    def test_a_range_of_the_other_product_never_matches(self) -> None:
        assert Target(version="10.7").matches(">=1.0", "tensorrt-rtx") is False
        assert Target("tensorrt-rtx").matches("", "tensorrt") is False
        rtx = Target("tensorrt-rtx").matches(">=1.5", "tensorrt-rtx")
        assert rtx == Unknown(frozenset({"--rtx"}))

    def test_a_range_that_cannot_be_read(self) -> None:
        with pytest.raises(TargetError, match=r"'10\.7' is not a version range"):
            Target().matches("10.7")


def test_words() -> None:
    target = Target(version="10.7", gpu="L4", asked=frozenset({"fp16"}))
    assert target.words == "TensorRT 10.7, SM 8.9 (L4), FP16"
    assert Target().words == "TensorRT (any version)"
    rtx = Target("tensorrt-rtx", "1.7", sm=120, refused=frozenset({"tf32"}))
    assert rtx.words == "TensorRT-RTX 1.7, SM 12.0, no TF32"


def test_the_first_known_gpu() -> None:
    assert first_sm([Target(), Target(sm=86), Target(gpu="L4")]) == 86
    assert first_sm([Target()]) is first_sm([]) is None


def test_targets_are_values() -> None:
    target = Target(version="10.7", gpu="L4", asked=frozenset({"fp16"}))
    assert pickle.loads(pickle.dumps(target)) == target
    assert len({target, Target(version="10.7", gpu="l4", asked=frozenset({"fp16"}))}) == 1


class TestKnowledge:
    def test_releases_are_in_order_and_sourced(self) -> None:
        for product in PRODUCTS:
            found = releases(product)
            numbers = [release.number for release in found]
            assert numbers == sorted(set(numbers))
            for release in found:
                assert len(release.number.release) == 3
            for row in data("versions")[product]:
                assert row["sources"]
                assert all(data("versions")["pages"][key].startswith("http") for key in row["sources"])
        assert minors("tensorrt")[0] == "8.6"
        assert "11.4" in minors("tensorrt")
        assert minors("tensorrt-rtx") == tuple(f"1.{minor}" for minor in range(8))

    def test_every_release_of_the_collected_knowledge_is_known(self, shared: Path) -> None:
        rows = yaml.safe_load((shared / "knowledge" / "versions.yaml").read_text(encoding="utf-8"))
        opsets = {release.version: release.opset_max for release in releases("tensorrt")}
        for row in rows["tensorrt"]:
            assert row["onnx_opset_max"] in (None, opsets[str(row["version"])])
        for row in rows["gpus"]:
            for name in row["names"]:
                if "-" not in name.split()[-1] and "-" not in name:  # "RTX A2000-A6000" is several
                    major, minor = row["sm"].split(".")
                    expected = int(major) * 10 + int(minor)
                    assert name == "DRIVE Thor under CUDA 12.x naming" or parse_gpu(name).sm == expected

    def test_support_of_gpus_ends_with_a_release_that_exists(self) -> None:
        for entry in architectures():
            for version in (entry.first, entry.last):
                assert version is None or check_version(version) == version
            assert entry.rtx is None or Version(entry.rtx) in {r.number for r in releases("tensorrt-rtx")}

    def test_data_is_read_when_first_asked_for(self) -> None:
        code = "import sys, trtlint.target.target; sys.exit('yaml' in sys.modules or 'onnx' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestUpgrades:
    def test_the_version_that_is_left(self) -> None:
        assert Target(version="11.4", previous="8.6").leaving == (8, 6)
        assert Target(version="11.4", previous="10.13.2").leaving == (10, 13)
        assert Target(version="11.4").leaving is None
        with pytest.raises(TargetError, match="does not exist"):
            Target(version="11.4", previous="8.7")

    def test_what_a_command_says_fills_what_is_open(self) -> None:
        target = Target(asked=frozenset({"fp16"}), refused=frozenset({"int8"}))
        filled = target.completed({"fp16": False, "int8": True, "best": True, "tf32": False}, "tensorrt-rtx")
        assert filled.asked == {"fp16", "best"}
        assert filled.refused == {"int8", "tf32"}
        assert filled.product == "tensorrt-rtx"

    def test_a_version_settles_the_product(self) -> None:
        assert Target(version="10.8").completed({}, "tensorrt-rtx").product == "tensorrt"

    @pytest.mark.parametrize(
        ("version", "opset"),
        [("8.6", 17), ("10.0", 20), ("10.5", 20), ("10.7", 22), ("11.2", 24), (None, None)],
    )
    def test_the_highest_opset(self, version: str | None, opset: int | None) -> None:
        assert Target(version=version).opset_max == opset

    def test_whether_the_gpu_is_supported(self) -> None:
        assert Target(version="10.4", gpu="V100").gpu_supported is True
        assert Target(version="10.5", gpu="V100").gpu_supported is False
        assert Target(version="10.5").gpu_supported is None
        assert Target(gpu="V100").gpu_supported is None
        notice = Target(version="10.5", gpu="V100").gpu_notice
        assert notice is not None
        assert "10.4" in notice


@pytest.mark.parametrize("text", ["9" * 5000, "10." + "9" * 5000, "10.7.." + "9" * 5000])
def test_a_version_of_thousands_of_digits_is_no_version(text: str) -> None:
    with pytest.raises(TargetError, match=r"9{9}\.\.\.' is not a version of TensorRT") as refused:
        parse_versions(text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_lines_around_an_unknown_version_are_named(product: Product) -> None:
    lines = minors(product)
    oldest, newest = (tuple(map(int, line.split("."))) for line in (lines[0], lines[-1]))
    name = PRODUCTS[product]
    with pytest.raises(TargetError) as caught:
        check_version("0.9", product)
    assert str(caught.value) == f"{name} 0.9 is not supported; use {lines[0]} or newer"
    with pytest.raises(TargetError) as caught:
        check_version(f"{newest[0] + 50}.0", product)
    assert str(caught.value) == f"{name} {newest[0] + 50}.0 does not exist; nearest: {lines[-1]}"
    for line, after in pairwise(lines):
        major, minor = map(int, line.split("."))
        if f"{major}.{minor + 1}" != after:
            with pytest.raises(TargetError) as caught:
                check_version(f"{major}.{minor + 1}", product)
            assert str(caught.value).endswith(f"does not exist; nearest: {line}, {after}")
    assert oldest < newest
    with pytest.raises(TargetError, match=r"does not exist|is not a known release"):
        check_version(f"{lines[-1]}.0.0.0", product)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"product": None}, "product=None: expected one of tensorrt, tensorrt-rtx"),
        ({"version": 10.7}, "version=10.7: expected a text such as '10.7'"),
        ({"sm": "89"}, "sm='89': expected a compute capability times ten, such as 89"),
        ({"sm": True}, "sm=True: expected a compute capability times ten, such as 89"),
        ({"gpu": 89}, "gpu=89: expected a text such as 'L4' or 'sm89'"),
        ({"previous": 10}, "previous=10: expected a text such as '10.7'"),
        ({"asked": "fp16"}, "asked='fp16': expected a set of builder settings that are on, such as {'fp16'}"),
        ({"asked": None}, "asked=None: expected a set of builder settings that are on, such as {'fp16'}"),
        ({"refused": 5}, "refused=5: expected a set of builder settings that are off, such as {'tf32'}"),
        ({"asked": ["x", 5]}, "asked=5: expected a set of builder settings that are on, such as {'fp16'}"),
        ({"plugins": [None]}, "plugins=None: expected a set of plugin names, such as {'MyPlugin'}"),
        ({"plugins": "A"}, "plugins='A': expected a set of plugin names, such as {'MyPlugin'}"),
    ],
)  # fmt: skip
def test_values_of_the_wrong_type(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        Target(**fields)
    assert str(caught.value) == message


def test_plugins_are_a_set() -> None:
    plugins: Any = ["A", "B", "A"]
    assert Target(plugins=plugins).plugins == {"A", "B"}
    assert Target(plugins=None).plugins is None
