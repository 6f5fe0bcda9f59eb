"""Closing lines of a report."""

from __future__ import annotations

from trtlint.report.counts import either, settling


def test_an_option_is_named_as_a_user_gives_it() -> None:
    options = ("--trt", "--gpu", "--no-tf32", "--fp16")
    assert [either(option) for option in options] == ["--trt", "--gpu", "--no-tf32", "--fp16 or --no-fp16"]


def test_the_option_that_settles_most_is_first() -> None:
    assert settling([("--gpu",), ("--trt", "--bf16"), ("--bf16",)]) == (
        "--bf16 or --no-bf16 (2), --gpu (1), --trt (1)"
    )
