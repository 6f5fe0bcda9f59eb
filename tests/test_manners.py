"""Tests of shell behaviour: completion, colours, quiet output and counts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest

from tests.conftest import REPOSITORY

MODEL = str(REPOSITORY / "examples" / "unet_attention.onnx")
LINT = (MODEL, "--trt", "10.7", "--isolated", "--select", "ACC102")
COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*3[0-7]")


def trtlint(
    *arguments: str, stdout: TextIO | int = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    return subprocess.run(
        [sys.executable, "-m", "trtlint", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**kept, "PYTHONUTF8": "1", **environment},
        check=False,
    )


def complete(words: str) -> list[str]:
    """Return bash's completions for these words. The last word is incomplete."""
    number = str(len(words.split()) - 1)
    code = "import sys; sys.argv[0] = 'trtlint'; from trtlint.__main__ import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "COMP_WORDS": words, "COMP_CWORD": number, "_TRTLINT_COMPLETE": "bash_complete"},
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("trtlint ru", {"plain,rule", "plain,rules", "file,ru"}),
        ("trtlint --sel", {"plain,--select"}),
        ("trtlint lint --sel", {"plain,--select"}),
        ("trtlint model.onnx --format sa", {"plain,sarif"}),
        ("trtlint mod", {"file,mod"}),
        ("trtlint a.onnx mod", {"file,mod"}),
    ],
)
def test_completion(words: str, offered: set[str]) -> None:
    assert set(complete(words)) == offered


@pytest.mark.slow
def test_no_color() -> None:
    assert COLOUR.search(trtlint(*LINT, FORCE_COLOR="1").stdout)
    assert not COLOUR.search(trtlint(*LINT, FORCE_COLOR="1", NO_COLOR="1").stdout)
    assert "\x1b" not in trtlint(*LINT).stdout


@pytest.mark.slow
def test_quiet_is_findings_only() -> None:
    loud, quiet = trtlint(*LINT).stdout, trtlint(*LINT, "-q").stdout
    assert quiet.rstrip() == loud[: len(quiet.rstrip())]
    assert "trtlint rule ACC102" in loud
    assert "trtlint rule ACC102" not in quiet


@pytest.mark.slow
def test_statistics() -> None:
    out = trtlint(*LINT, "--statistics", "--format", "concise").stdout.splitlines()
    assert out[-1].split() == ["error[ACC102]", "sdpa-scale-on-both-operands", "1", "1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--output", "sarf:x"), "did you mean 'sarif'?"),
        (("--output", "sarif:missing/x.sarif"), "there is no folder missing"),
        (("--output", "github", "--output", "gitlab"), "two outputs go to standard output"),
        (("--source-root", "missing"), "is not a folder"),
        (("--format", "xml"), "'xml' is not one of"),
    ],
)
def test_usage_errors_come_before_any_work(arguments: tuple[str, ...], words: str) -> None:
    done = trtlint(*LINT, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which nothing can be made")
@pytest.mark.parametrize(
    "arguments",
    [
        (*LINT, "--output", "html:/proc/x"),
        (*LINT, "--write-baseline", "/proc/x"),
        ("skeleton", MODEL, "-o", "/proc/x"),
        ("suppress", MODEL, "ACC102", "--reason", "measured", "-o", "/proc/x"),
    ],
)
def test_the_file_that_cannot_be_written_is_named(arguments: tuple[str, ...]) -> None:
    done = trtlint(*arguments)
    assert done.returncode == 3
    assert done.stderr == "trtlint: cannot write /proc/x: No such file or directory\n"


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with Path("/dev/full").open("w") as full:
        done = trtlint(*LINT, stdout=full)
    assert done.returncode == 3
    assert "cannot write the output" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "given", "threads"),
    [(["lint", "m.onnx"], None, "1"), (["m.onnx"], "4", "4"), (["measure", "m.onnx"], None, "None")],
    ids=["lint", "as the user says", "measure"],
)
def test_the_library_of_numpy_has_one_thread(arguments: list[str], given: str | None, threads: str) -> None:
    code = """
import os, sys, trtlint.__main__, trtlint.cli
trtlint.cli.run = lambda _: print(os.environ.get("OPENBLAS_NUM_THREADS")) or 0
trtlint.__main__.main()
"""
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment = kept if given is None else {**kept, "OPENBLAS_NUM_THREADS": given}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == threads


_INTERRUPTED = """
import os, signal, sys, trtlint.__main__, trtlint.cli

signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the parent has made of it

def run(_):
    {during}

trtlint.cli.run = run
sys.argv = ["trtlint", "rules"]
{behind}
trtlint.__main__.main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
@pytest.mark.parametrize(
    ("during", "behind", "code"),
    [
        ("os.kill(os.getpid(), signal.SIGINT)", "", 130),
        ("return 0", "sys.stdout.flush = lambda: os.kill(os.getpid(), signal.SIGINT)", 0),
    ],
    ids=["behind the last handler", "while it ends"],
)
def test_an_interrupt_at_the_end_is_quiet(during: str, behind: str, code: int) -> None:
    program = _INTERRUPTED.format(during=during, behind=behind)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, "")
