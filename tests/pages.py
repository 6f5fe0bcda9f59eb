"""Commands, screens, files and code shown in the documentation."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.conftest import REPOSITORY
from trtlint.cli import run

EXAMPLES = REPOSITORY / "examples"

_BLOCK = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[\w-]*)(?P<words>[^\n]*)\n(?P<text>.*?)^(?P=fence)[ ]*$"
    r"|(?<=\n\n)(?P<indented>(?:    [^\n]*\n)+)",
    re.DOTALL | re.MULTILINE,
)
_TITLE = re.compile(r'title="([^"]+)"')
_COMMAND = re.compile(r"^(?:\$ |(?=trtlint ))(.+)$")
_SHELL = frozenset("|&;<>$`*#")
_NOT_SHELL = re.compile(r"'[^']*'|\s#.*")
"""Command parts that need no shell: texts in single quotes, and a final comment."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced or indented block of a page.

    Attributes:
        line: first line, from 1.
        language: the word after the fence.
        title: name of the shown file, empty if none.
        text: contents.
    """

    line: int
    language: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a page with its screen (None if the page shows no screen)."""

    line: int
    text: str
    screen: str | None


def pages() -> list[Path]:
    """Return the handwritten pages with commands for users."""
    return [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def blocks(page: str) -> Iterator[Block]:
    """Return the blocks of a page in order."""
    for match in _BLOCK.finditer(page):
        title = _TITLE.search(match["words"] or "")
        line = page.count("\n", 0, match.start()) + 1
        text = match["text"] or re.sub(r"^    ", "", match["indented"] or "", flags=re.MULTILINE)
        yield Block(line, match["language"] or "", title[1] if title else "", text)


def commands(block: Block) -> Iterator[Command]:
    """Return the commands of a block: ``$`` lines with screens, otherwise lines that start with trtlint."""
    if block.language not in {"", "console", "sh", "bash", "shell"} or block.title:
        return
    lines = block.text.splitlines()
    shows = any(line.startswith("$ ") for line in lines)
    starts = [i for i, line in enumerate(lines) if (line.startswith("$ ") if shows else _COMMAND.match(line))]
    for start, end in pairwise([*starts, len(lines)]):
        last = start
        while lines[last].endswith("\\") and last + 1 < end:
            last += 1
        text = " ".join(line.removesuffix("\\").strip() for line in lines[start : last + 1])
        screen = "\n".join(lines[last + 1 : end]).rstrip() if shows else ""
        yield Command(block.line + start + 1, text.removeprefix("$ "), screen or None)


_PROGRAM = """{"graph_module": {"graph": {"tensor_values": {}, "nodes": [
{"name": "cumprod", "target": "torch.ops.aten.cumprod.default", "outputs": [], "metadata": {}}]}}}"""


@dataclass
class Session:
    """A folder for the commands of one page, run in order.

    Attributes:
        folder: contains the examples and the example files that pages name.
        installed: the command to run instead of the imported package.
        code: exit code of the last command.
    """

    folder: Path
    installed: Path | None = None
    code: int = 0

    def prepare(self) -> None:
        """Write the example files."""
        shutil.copytree(EXAMPLES, self.folder / "examples")
        for name in ("model.onnx", "models/a.onnx", "models/legacy/b.onnx", "models/norm/1/model.onnx"):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(EXAMPLES / "nafnet.onnx", self.folder / name)
        shutil.copyfile(EXAMPLES / "vit.onnx", self.folder / "vit.onnx")
        shutil.copyfile(EXAMPLES / "nafnet.npz", self.folder / "batch.npz")
        log = gzip.decompress((EXAMPLES / "nafnet.build.log.gz").read_bytes())
        for name in ("build.log", "models/norm/build.log"):
            (self.folder / name).write_bytes(log)
        files = {
            "layers.json": '{"Layers": ["/n1/ReduceMean_1", "/n1/Sub"], "Bindings": ["x", "y"]}',
            "profile.json": '[{"name": "/n1/Sub", "timeMs": 1, "averageMs": 1, "percentage": 9}]',
            "build.sh": "trtexec --onnx=model.onnx --fp16 --shapes=x:1x16x8x8\n",
            "models/norm/config.pbtxt": 'platform: "onnxruntime_onnx"\nmax_batch_size: 8\n',
        }
        for name, text in files.items():
            self.write(name, text)
        with zipfile.ZipFile(self.folder / "program.pt2", "w") as archive:
            archive.writestr("program/models/model.json", _PROGRAM)

    def write(self, name: str, text: str) -> None:
        """Write a file shown on a page."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run(self, command: str) -> str:
        """Run a command, store its exit code, and return both output streams."""
        if command == "echo $?":
            return str(self.code)
        words = shlex.split(command, comments=True)
        unquoted = _NOT_SHELL.sub("", command)
        if words[:1] == ["cd"]:
            self.folder = self.folder / words[1]
            os.chdir(self.folder)
            return ""
        if words[:1] == ["trtlint"] and not self.installed and not _SHELL & set(unquoted):
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                self.code = run(words[1:])
            return out.getvalue().rstrip()
        called = [str(self.installed)] if self.installed else [sys.executable, "-m", "trtlint"]
        own = f'trtlint() {{ {shlex.join(called)} "$@"; }}\n'
        done = subprocess.run(
            ["bash", "-c", own + command],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.code = done.returncode
        return done.stdout.rstrip()


def same(screen: str, printed: str) -> bool:
    """Return whether a screen matches the output; a line ``...`` matches any lines."""
    pieces = re.split(r"^\.\.\.$", screen, flags=re.MULTILINE)
    return re.fullmatch(".*".join(map(re.escape, pieces)), printed, re.DOTALL) is not None
