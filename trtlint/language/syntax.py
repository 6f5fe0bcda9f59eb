"""Parse the text of an expression to a syntax tree of limited size."""

from __future__ import annotations

import ast
import warnings

from trtlint.errors import SettingError

MAX_LENGTH = 2_000
MAX_NODES = 500
MAX_DEPTH = 40


class ExpressionError(SettingError):
    """An error in an expression, with its column (from 1)."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


def column(text: str, node: ast.AST) -> int:
    """Return the column in ``text`` (from 1) where a syntax node begins.

    ``text`` can have several lines. The column counts from the start of ``text``, and a line break counts as
    one character.
    """
    lines = text.split("\n")
    line = min(getattr(node, "lineno", 1), len(lines)) - 1
    start = getattr(node, "col_offset", 0) - (line == 0)  # without the parenthesis that parse() adds
    inside = len(lines[line].encode("utf-8", "replace")[: max(start, 0)].decode("utf-8", "ignore"))
    return sum(len(before) + 1 for before in lines[:line]) + inside + 1


def parse(text: str) -> ast.expr:
    """Parse the text of an expression.

    Raises:
        ExpressionError: the syntax is wrong, or the expression is too long or too deep.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the expression is longer than {MAX_LENGTH} characters", MAX_LENGTH)
    if not text.strip():
        raise ExpressionError("the expression is empty", 1)
    text = text.replace("\r", " ").replace("\f", " ")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(f"({text}\n)", mode="eval").body
    except SyntaxError as error:
        raise _syntax_error(text, error) from None
    except (ValueError, RecursionError, MemoryError):
        raise ExpressionError("cannot parse the expression", 1) from None
    _bound(text, tree)
    return tree


def _syntax_error(text: str, error: SyntaxError) -> ExpressionError:
    for sign, word in (("&&", "and"), ("||", "or"), ("!", "not")):
        found = text.replace("!=", "==").find(sign)
        if found >= 0:
            return ExpressionError(f"write {word!r} for {sign!r}", found + 1)
    lines = text.split("\n")
    line = (error.lineno or 1) - 1
    if line >= len(lines):  # the end, after the closing parenthesis of parse()
        return ExpressionError(error.msg, len(text))
    start = (error.offset or 1) - (line == 0)
    return ExpressionError(
        error.msg, min(sum(len(part) + 1 for part in lines[:line]) + max(start, 1), len(text))
    )


def _bound(text: str, tree: ast.expr) -> None:
    count = 0
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        count += len(level)
        if count > MAX_NODES:
            raise ExpressionError(f"the expression has more than {MAX_NODES} parts", 1)
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise ExpressionError(f"the expression is nested deeper than {MAX_DEPTH} levels", column(text, level[0]))
