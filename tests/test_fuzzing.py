"""A few seconds of fuzzing; ``make fuzz`` runs the fuzzer for minutes.

A case that fails is printed, such as ``model:17``, and made again by ``make fuzz ARGS="--replay model:17"``.
TRTLINT_FUZZ_FIRST is the number of the first one, for other cases than last time.
"""

from __future__ import annotations

import io
import json
import os
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import onnx
import pytest

from fuzzing.__main__ import attempt, main
from fuzzing.inputs import INPUTS, Input, made
from fuzzing.trees import change_json, change_message
from tests.buildfiles.vectors import read_with

pytestmark = pytest.mark.isolated

FIRST = int(os.environ.get("TRTLINT_FUZZ_FIRST", "0"))
CASES: Mapping[str, int] = {
    "model": 24,
    "log": 40,
    "layers": 40,
    "configuration": 40,
    "rule": 30,
    "triton": 30,
    "baseline": 24,
    "ranges": 30,
}
BLOCKS = 16


@pytest.mark.slow
@pytest.mark.parametrize("kind", INPUTS.values(), ids=lambda kind: kind.name)
def test_findings_or_one_line(kind: Input, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--only", kind.name, "--cases", str(CASES[kind.name]), "--first", str(FIRST)]
    assert main(arguments) == 0, capsys.readouterr().out


@pytest.mark.parametrize("kind", INPUTS.values(), ids=lambda kind: kind.name)
def test_a_case_is_the_same_each_time_and_no_seed(kind: Input) -> None:
    cases = [made(kind, case) for case in range(12)]
    assert cases == [made(kind, case) for case in range(12)]
    assert len(set(cases) - set(kind.seeds())) > 6


def test_what_goes_wrong_is_told(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        raise ValueError(f"{path.name}\nis wrong")

    kind = replace(INPUTS["configuration"], check=fail)
    assert attempt(kind, 1, tmp_path / kind.file).startswith(
        "ValueError: trtlint.toml is wrong (test_fuzzing"
    )


def test_a_message_stays_one_that_can_be_written() -> None:
    chance = random.Random(3)
    for _ in range(100):
        proto = onnx.ModelProto.FromString(INPUTS["model"].seeds()[0])
        change_message(proto, chance)
        onnx.ModelProto.FromString(proto.SerializePartialToString())


def test_json_data_stay_json_data() -> None:
    chance = random.Random(3)
    data = json.loads(INPUTS["layers"].seeds()[0])
    assert any(json.loads(json.dumps(change_json(data, chance))) != data for _ in range(20))


@pytest.mark.parametrize("case", range(12))
def test_a_log_reads_the_same_with_vectors(case: int) -> None:
    """Shuffled real lines make the log long enough for the reader of large logs."""
    chance = random.Random(case)
    lines = b"\n".join(INPUTS["log"].seeds()).split(b"\n")
    chunks = [lines[at : at + BLOCKS] for at in range(0, len(lines), BLOCKS)]
    chance.shuffle(chunks)
    # One line many times, as builders print; some without their beginning, some joined.
    often = chance.choice(lines) + b"\n"
    text = b"\n".join(b"\n".join(chunk) for chunk in chunks) + b"\n"
    data = (text + often * 500) * 3
    data = data.replace(b"[V] [TRT] ", chance.choice((b"[V] [TRT] ", b"[TRT] [V] ", b"[V] ", b"[I] [TRT] ")))
    if case % 3 == 0:
        data = data.replace(b"\n", b"\r\n")
    slow, fast = (read_with(io.BytesIO(data), vectorised=vectorised) for vectorised in (False, True))
    assert slow == fast
    assert slow.lines > 1_000
