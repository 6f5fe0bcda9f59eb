"""Places of the package that can be mutated, with the operators of Cosmic Ray.

https://cosmic-ray.readthedocs.io/en/latest/reference/operators/
"""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

_COMPARISONS = {
    "Eq": ("NotEq", "LtE", "GtE"),
    "NotEq": ("Eq", "Lt", "Gt"),
    "Lt": ("LtE", "GtE"),
    "LtE": ("Lt", "Gt"),
    "Gt": ("GtE", "LtE"),
    "GtE": ("Gt", "Lt"),
    "Is": ("IsNot",),
    "IsNot": ("Is",),
}
"""Replacements of each comparison. ``==`` does not replace ``is``: most results would be the same."""
_ARITHMETIC = {
    "Add": ("Sub",),
    "Sub": ("Add",),
    "Mul": ("Div", "FloorDiv"),
    "Div": ("Mul", "FloorDiv"),
    "FloorDiv": ("Mul", "Div"),
    "Mod": ("FloorDiv",),
    "Pow": ("Mul",),
    "RShift": ("LShift",),
    "LShift": ("RShift",),
    "BitOr": ("BitAnd",),
    "BitAnd": ("BitOr",),
    "BitXor": ("BitAnd",),
}
"""Replacements of each operator. The remaining replacements are too easy to detect; for example,
strings have no shift."""
OPERATORS = (
    "NumberReplacer",
    "AddNot",
    "ExceptionReplacer",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ReplaceFalseWithTrue",
    "ReplaceTrueWithFalse",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceUnaryOperator_USub_UAdd",
    "ReplaceUnaryOperator_Delete_Invert",
    "ZeroIterationForLoop",
    *(f"ReplaceComparisonOperator_{old}_{new}" for old, all_ in _COMPARISONS.items() for new in all_),
    *(f"ReplaceBinaryOperator_{old}_{new}" for old, all_ in _ARITHMETIC.items() for new in all_),
)
"""Cosmic Ray's operators without meaningless replacements.

These places stay as they are, because no test can see the change:

* decorators: they cache results, or make objects immutable,
* the keywords ``frozen``, ``eq`` and ``total`` of a class, for the same reason,
* annotations and blocks for type checkers,
* ``*`` in a signature, which Cosmic Ray mistakes for a product: mypy checks the calls,
* ``zip(..., strict=True)``: an assertion whose error no caller expects."""
_UNSEEN_KEYWORDS = ("frozen", "eq", "total")
"""Keywords of classes that only type checkers read, or whose effect no test can see."""


@dataclass(frozen=True)
class Variant:
    """One mutation of a file: an operator, and the index of the place among all places of this operator."""

    operator: str
    occurrence: int


@dataclass(frozen=True)
class Mutant:
    """One changed line of the package.

    Attributes:
        file: path relative to the checkout, with slashes.
        line: number of the first changed line.
        operator: the operator of Cosmic Ray.
        before: the original line, without indentation.
        after: the changed line, without indentation.
        code: the whole changed file.
    """

    file: str
    line: int
    operator: str
    before: str
    after: str
    code: str

    @property
    def room(self) -> str:
        """The top folder of the package, or the name of a module outside of all folders."""
        return room_of(self.file)

    @property
    def key(self) -> tuple[str, str, str]:
        """A key that stays the same when lines move."""
        return self.file, self.before, self.after


def room_of(file: str) -> str:
    """Return the top folder of a file in the package, or the file name without suffix."""
    return file.split("/")[1].removesuffix(".py")


def sample(root: Path, count: int, seed: int, rooms: Sequence[str] = ()) -> Iterator[Mutant]:
    """Draw mutants; each folder gets a number in proportion to its places.

    Each place has the same probability; then one of its variants is drawn. The same seed gives the same
    mutants for the same sources, whichever folders are requested.

    Args:
        root: the checkout.
        count: number of mutants for the whole package.
        seed: seed of the random numbers.
        rooms: draw only in these folders; if empty, draw in all folders.
    """
    places: dict[str, list[tuple[str, list[Variant]]]] = defaultdict(list)
    for path in sorted((root / "trtlint").rglob("*.py")):
        file = path.relative_to(root).as_posix()
        places[room_of(file)] += [(file, variants) for variants in _places(path.read_text("utf-8")).values()]
    total = sum(map(len, places.values()))
    for room, found in sorted(places.items()):
        if rooms and room not in rooms:
            continue
        rng = random.Random(f"{seed} {room}")
        share = round(count * len(found) / total)
        drawn = 0
        for file, variants in rng.sample(found, len(found)):
            if drawn == share:
                break
            mutant = _made(root, file, rng.choice(variants))
            if mutant is not None:
                drawn += 1
                yield mutant


def _places(code: str) -> Mapping[tuple[Any, ...], list[Variant]]:
    """Return the places of a file by position, each with its variants."""
    nodes = list(ast_nodes(get_ast(code)))
    found: dict[tuple[Any, ...], list[Variant]] = defaultdict(list)
    for name in OPERATORS:
        operator = _operator(name)
        occurrence = 0
        for node in nodes:
            for position in operator.mutation_positions(node):
                kind = name.partition("_")[0]
                found[(position[0], position[1], kind)].append(Variant(name, occurrence))
                occurrence += 1
    return found


@cache
def _operator(name: str) -> Any:
    return get_operator(f"core/{name}")()


def _made(root: Path, file: str, variant: Variant) -> Mutant | None:
    """Return the mutant. Return None if no test can see the change, or if the result is not valid Python."""
    source = (root / file).read_text("utf-8")
    try:
        code = mutate_code(source, _operator(variant.operator), variant.occurrence)
        if code is None or _meaning(code, variant.operator) == _meaning(source, variant.operator):
            return None
    except (AttributeError, SyntaxError):  # Cosmic Ray 8.7 does not replace `except (module.Error, ...)`
        return None
    pairs = zip(source.splitlines(), code.splitlines(), strict=False)
    line, before, after = next(
        ((number, old, new) for number, (old, new) in enumerate(pairs, 1) if old != new), (0, "", "")
    )
    if not line or "TYPE_CHECKING" in before or before.lstrip().startswith("@"):
        return None
    return Mutant(file, line, variant.operator, before.strip(), after.strip(), code)


def _meaning(code: str, operator: str) -> str:
    """Return the syntax tree of a file as text, without the parts that tests cannot see."""
    return ast.dump(_Observable(lengths_asserted=operator != "ReplaceTrueWithFalse").visit(ast.parse(code)))


class _Observable(ast.NodeTransformer):
    """Removes the parts of a syntax tree that tests cannot see.

    Attributes:
        lengths_asserted: whether the keyword ``strict`` of ``zip`` stays.
    """

    def __init__(self, *, lengths_asserted: bool) -> None:
        self.lengths_asserted = lengths_asserted

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.keywords = [keyword for keyword in node.keywords if keyword.arg not in _UNSEEN_KEYWORDS]
        return self.generic_visit(node)

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        usual = [*node.posonlyargs, *node.args]
        defaults = [*[None] * (len(usual) - len(node.defaults)), *node.defaults]
        node.kwonlyargs = [*usual, *node.kwonlyargs]
        node.kw_defaults = [*defaults, *node.kw_defaults]
        node.posonlyargs, node.args, node.defaults = [], [], []
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "zip" and not self.lengths_asserted:
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "strict"]
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def code_lines(source: str) -> Iterable[tuple[int, int]]:
    """Yield the first and last line of each function body: these lines run on a call, not at import."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.body[0].lineno, node.end_lineno or node.lineno
