"""Print a random sample of the project's texts, for a review by a reader who does not know the project.

``python -m scripts.sample_texts --seed 7`` prints ten docstrings, ten messages, ten rule texts and ten
passages of the manual.  The messages of findings are complete.  In error messages, braces mark the values
that trtlint fills in.

The question to the reader is which sentences must be read twice.  A sentence counts if its meaning is unclear
at the first reading.  A sentence does not count if the reader only prefers other words, or more context.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from trtlint.case import facts_of
from trtlint.engine.evaluate import evaluate
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import load_builtin
from trtlint.examples.blocks import evidence_of
from trtlint.examples.models import model_of_text
from trtlint.examples.rules import Example, examples

Draw = Callable[[random.Random], Iterator[str]]
"""Function that yields the texts of one kind in random order."""
_ROOT = Path(__file__).resolve().parent.parent
_OWN_HEADINGS = {"Fires", "Stays silent", "Fixed"}
"""Headings of rule pages with examples, which are not prose."""
_NO_PROSE = re.compile(r"```|#|!\[|\[!")
"""Start of a block that is code, a heading or a picture."""
_BLOCK = re.compile(r"^```.*?^```$|^\S.*?(?=\n\s*\n\S|\Z)", re.MULTILINE | re.DOTALL)
"""A block of code, or the text up to the next line that follows an empty line and is not indented."""
_LEAST_WORDS = 12
"""Smallest number of words in a passage."""


def main() -> None:
    """Print the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=10, help="texts of each kind")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    kinds: tuple[Draw, ...] = (docstrings, messages, rule_texts, manual)
    number = 0
    for kind in kinds:
        for text in islice(kind(draw), arguments.each):
            number += 1
            print(
                f"--- Text {number} ({kind.__name__.replace('_', ' ').removesuffix('s')})\n\n{text.strip()}\n"
            )


def docstrings(draw: random.Random) -> Iterator[str]:
    """Yield docstrings of the package, each below the line that it documents."""
    found = []
    for file in sorted((_ROOT / "trtlint").rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        found += [
            (file, source, node)
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
        ]
    for file, source, node in draw.sample(found, len(found)):
        text = ast.get_docstring(node) or ""
        if isinstance(node, ast.Module):
            head = f"# {file.relative_to(_ROOT)}"
        else:
            head = "\n".join(source.splitlines()[node.lineno - 1 : node.body[0].lineno - 1])
        yield f'{head}\n"""{text}"""'


def messages(draw: random.Random) -> Iterator[str]:
    """Yield messages and advice of findings, and error messages, in turn."""
    for pair in zip(_findings(draw), _errors(draw), strict=False):
        yield from pair


def rule_texts(draw: random.Random) -> Iterator[str]:
    """Yield sections of rule pages, below the name and the summary of the rule."""
    found = []
    for rule in sorted(load_builtin(), key=lambda each: each.id):
        for heading, text in sections(rule.body):
            if heading not in _OWN_HEADINGS:
                found.append(f"{rule.id} {rule.name}: {rule.summary}\n\n## {heading}\n\n{text}")
    yield from draw.sample(found, len(found))


def manual(draw: random.Random) -> Iterator[str]:
    """Yield passages of the manual, below the title of the page and the heading of the section."""
    found = []
    for file in [_ROOT / "README.md", *sorted((_ROOT / "docs").rglob("*.md"))]:
        text = file.read_text(encoding="utf-8")
        title = text.partition("\n")[0]
        for heading, part in sections(text):
            found += [f"{title}\n\n## {heading}\n\n{each}" for each in passages(part)]
    yield from draw.sample(found, len(found))


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield the second-level headings of a page and the texts below them."""
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, below = part.partition("\n")
        if below.strip():
            yield heading, below.strip()


def passages(text: str) -> Iterator[str]:
    """Yield the paragraphs and lists of a section that contain prose.

    A paragraph that ends with a colon and the block below it are one passage.
    """
    prose, whole = False, ""
    for block in _BLOCK.findall(text):
        prose = prose or (not _NO_PROSE.match(block) and len(block.split()) >= _LEAST_WORDS)
        whole = f"{whole}\n\n{block}" if whole else block
        if not block.endswith(":"):
            if prose:
                yield whole
            prose, whole = False, ""


def _findings(draw: random.Random) -> Iterator[str]:
    rules = sorted(load_builtin(), key=lambda each: each.id)
    for rule in draw.sample(rules, len(rules)):
        firing = [example for example in examples(rule) if example.expected == "fires"]
        if text := _finding(rule, draw.choice(firing)):
            yield text


def _finding(rule: Rule, example: Example) -> str:
    source = next((block.text for block in example.blocks if block.kind == "onnx"), None)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        model = None if source is None else model_of_text(source, file, checked=example.checked)
        evidence = evidence_of(example.blocks, model)
        facts = facts_of(model, command=example.command, evidence=evidence, weights=True)
        report = evaluate((rule,), facts, example.target)
    for finding in (*report.findings, *report.conditional):
        advice = "\n".join(f"   = help: {each}" for each in finding.advice)
        return f"{finding.severity}[{rule.id}] {rule.name}: {finding.message}\n{advice}"
    return ""


def _errors(draw: random.Random) -> Iterator[str]:
    found = []
    for file in sorted((_ROOT / "trtlint").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                for argument in node.exc.args:
                    text = _filled(argument)
                    if text.count(" ") > 3:
                        found.append(text)
    yield from draw.sample(found, len(found))


def _filled(node: ast.expr) -> str:
    """Return the text of a string literal or f-string; empty for other expressions."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (
            each.value if isinstance(each, ast.Constant) else f"{{{ast.unparse(each.value)}}}"
            for each in node.values
            if isinstance(each, ast.Constant | ast.FormattedValue)
        )
        return "".join(map(str, parts))
    return ""


if __name__ == "__main__":
    main()
