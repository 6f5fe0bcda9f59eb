"""Tests that rule examples that crash, hang or exhaust memory cost one line each."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.files.special import needs_posix
from trtlint.cli import run
from trtlint.engine.rule import RuleError
from trtlint.examples.rules import Begin, ExampleResult
from trtlint.runs import examples
from trtlint.runs.examples import BugError, RuleFileError, run_limited

pytestmark = [needs_posix, pytest.mark.isolated]
HEAD = '< ir_version: 8, opset_import: ["" : 17] >\n'
RULE = """---
id: {id}
name: house-relu
severity: warning
since: 0.1.0
evidence: documented
find: node
where: op == "Relu"
mark: [node]
message: "a Relu"
advice:
  - do: "Take it out."
references:
  - https://example.org/relu
---
## Fires

```onnx --trt 10.8 unchecked
{text}
```

## Stays silent

```onnx --trt 10.8
{head}g (float[1] x) => (float[1] y) {{ y = Neg(x) }}
```
"""
GOOD = f"{HEAD}g (float[1] x) => (float[1] y) {{ y = Relu(x) }}"


def begun(file: str, line: int) -> ExampleResult:
    return ExampleResult("XYZ901", Path(file), line, "fires", "broken")


def planned(*plan: tuple[str, Callable[[], object]]) -> Callable[[Begin], Iterator[ExampleResult]]:
    """Replace examples by actions, each with the name of its rule file."""

    def run_all(begin: Begin) -> Iterator[ExampleResult]:
        yield ExampleResult("XYZ900", Path("m.md"), 1, "fires", "missing", "no example")
        for number, (file, work) in enumerate(plan):
            if begin(begun(file, number)):
                work()
                yield ExampleResult("XYZ901", Path(file), number, "fires", "fires", os.fspath(file))

    return run_all


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def spin() -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        pass


def fill() -> list[bytearray]:
    return [bytearray(os.urandom(1) * (16 << 20)) for _ in range(64) if time.sleep(0.01) is None]


def fail() -> None:
    raise ValueError("oops")


def wrong() -> None:
    raise RuleError(Path("c.md"), 7, "nonsense")


def said(*plan: tuple[str, Callable[[], object]]) -> list[tuple[str, int, str, str]]:
    return [
        (result.path.name, result.line, result.got, result.detail) for result in run_limited(planned(*plan))
    ]


MISSING = ("m.md", 1, "missing", "no example")


def test_a_crash_is_one_line_and_the_run_goes_on_behind_its_file() -> None:
    assert said(("a.md", int), ("b.md", crash), ("b.md", int), ("c.md", int)) == [
        MISSING,
        ("a.md", 0, "fires", "a.md"),
        ("b.md", 1, "broken", "its process crashed (SIGSEGV)"),
        ("c.md", 3, "fires", "c.md"),
    ]


def test_every_example_behind_broken_files_runs() -> None:
    broken = "its process crashed (SIGSEGV)"
    plan = (("a.md", crash), ("a.md", int), ("a.md", int), ("b.md", crash), ("b.md", int), ("c.md", int))
    assert said(*plan, ("d.md", int)) == [
        MISSING,
        ("a.md", 0, "broken", broken),
        ("b.md", 3, "broken", broken),
        ("c.md", 5, "fires", "c.md"),
        ("d.md", 6, "fires", "d.md"),
    ]


def test_the_end_of_a_process_without_a_signal() -> None:
    found = said(("b.md", lambda: os._exit(3)), ("c.md", lambda: os._exit(0)), ("d.md", int))
    assert found == [
        MISSING,
        ("b.md", 0, "broken", "its process ended with code 3"),
        ("c.md", 1, "broken", "its process ended without a result"),
        ("d.md", 2, "fires", "d.md"),
    ]


def test_a_process_that_ends_between_examples_is_a_bug() -> None:
    def ending(_: Begin) -> Iterator[ExampleResult]:
        yield ExampleResult("XYZ900", Path("m.md"), 1, "fires", "fires")
        os._exit(3)

    message = r"^a bug in trtlint: the process for the examples failed: it ended with code 3$"
    with pytest.raises(BugError, match=message):
        list(run_limited(ending))


def test_examples_without_a_process() -> None:
    plan = planned(("a.md", int), ("b.md", int))
    assert [(each.path.name, each.line) for each in examples.in_place(plan)] == [
        ("m.md", 1), ("a.md", 0), ("b.md", 1),
    ]  # fmt: skip
    with pytest.raises(RuleFileError, match=r"^c\.md:7: nonsense$"):
        list(examples.in_place(planned(("c.md", wrong))))


def test_names_of_files_that_are_not_utf8() -> None:
    (result,) = list(run_limited(lambda begin: iter([begun(os.fsdecode(b"a\xff.md"), 3)])))
    assert result == begun(os.fsdecode(b"a\xff.md"), 3)


def test_processor_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "SECONDS", 1)
    found = said(("b.md", spin), ("c.md", int))
    words = "its process was stopped at the limit of 1 s of processor time for one rule file"
    assert found == [MISSING, ("b.md", 0, "broken", words), ("c.md", 1, "fires", "c.md")]


@pytest.mark.slow
def test_waiting_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "WALL", 1.0)
    found = said(("b.md", lambda: time.sleep(60)), ("c.md", int))
    assert found[1:] == [
        ("b.md", 0, "broken", "its process was stopped after 1 s"),
        ("c.md", 1, "fires", "c.md"),
    ]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "MEMORY", 128 << 20)
    found = said(("b.md", fill), ("c.md", int))
    words = "its process was stopped at its limit of 128 MiB of memory"
    assert found[1:] == [("b.md", 0, "broken", words), ("c.md", 1, "fires", "c.md")]


def test_a_run_stops_after_a_few_broken_files() -> None:
    with pytest.raises(RuleFileError, match=r"^stopped, because the examples of 5 rule files failed to run$"):
        said(*((f"{number}.md", crash) for number in range(9)))


def test_what_is_wrong_with_a_rule_file_is_said_as_ever() -> None:
    with pytest.raises(RuleFileError, match=r"^c\.md:7: nonsense$"):
        said(("c.md", wrong))


def test_a_bug_is_a_bug() -> None:
    with pytest.raises(BugError, match="a bug in trtlint: ValueError: oops"):
        said(("c.md", fail))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said(("a.md", lambda: [tempfile.mkdtemp(), crash()]), ("b.md", lambda: tempfile.mkdtemp()))
    assert not list(tmp_path.iterdir())


def deep(count: int) -> str:
    return f"{HEAD}g (float[1] x) => (float[1] y) {{ " + "y=I(x)<a=g()=>(y){" * count


def nested(count: int) -> str:
    kind = "seq(" * count + "float[1]" + ")" * count
    return f"{HEAD}g ({kind} x) => (float[1] y) {{ y = Relu(x) }}"


def zeros(shape: str) -> str:
    return f"{HEAD}g (float[1] x) => (float[1] y) < float[{shape}] w = {{}} > {{ y = Relu(x) }}"


BROKEN = {
    "deep": (deep(9000), "its process crashed (SIG"),
    "nested": (nested(5000), "the model cannot be stored: "),
    "large": (
        zeros("30000,40000"),
        "the zeros for tensors without stored values would take more than 64 MiB",
    ),
    "beyond": (
        zeros("3000000,4000000"),
        "the zeros for tensors without stored values would take more than 64 MiB",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_hostile_examples(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, reason = BROKEN[name]
    file, good = tmp_path / "XYZ901-house-relu.md", tmp_path / "XYZ902-house-other.md"
    file.write_text(RULE.format(id="XYZ901", text=text, head=HEAD), encoding="utf-8")
    other = RULE.format(id="XYZ902", text=GOOD, head=HEAD).replace("name: house-relu", "name: house-other")
    good.write_text(other, encoding="utf-8")
    assert run(["test", str(tmp_path)]) == 2
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{file}:18: XYZ901: expected fires, got broken: {reason}")
    assert last.startswith("1 failure in ")


def test_elements_of_half_precision_are_found_in_linear_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The time grew with the square of this text, to several seconds of processor time.
    monkeypatch.setattr(examples, "SECONDS", 2)
    file = tmp_path / "XYZ901-house-relu.md"
    for hard in ("float16[", "float16" + " " * 300, "float16 ", "float16 {"):
        hard *= 240_000 // len(hard)
        file.write_text(RULE.format(id="XYZ901", text=f"{GOOD}\n{hard}", head=HEAD), encoding="utf-8")
        assert run(["test", str(file)]) == 1


def test_a_rule_has_no_more_examples_than_are_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "XYZ901-house-relu.md"
    text = RULE.format(id="XYZ901", text=GOOD, head=HEAD)
    file.write_text(text + f"\n```onnx\n{GOOD}\n```\n" * 300, encoding="utf-8")
    assert run(["test", str(file)]) == 2
    assert capsys.readouterr().err == f"trtlint: {file}:1: more than 300 code blocks\n"


def test_examples_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "XYZ901-house-relu.md"
    text = RULE.format(id="XYZ901", text=GOOD, head=HEAD)
    file.write_text(text, encoding="utf-8")
    assert run(["test", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 examples of 1 rule hold"
    file.write_text(text.partition("## Stays silent")[0], encoding="utf-8")
    assert run(["test", str(file)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 failure in 1 example of 1 rule"
