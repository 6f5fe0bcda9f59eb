"""Compile the syntax tree of an expression to closures, and check its names and types."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from trtlint.knowledge.nearest import did_you_mean
from trtlint.language.closures import among, calling, element_of, joined, negated
from trtlint.language.fieldtypes import (
    ANYTHING,
    NUMBER,
    TRUTH,
    Kind,
    Kinds,
    choices,
    constant,
    has,
    items_fit,
    kinds_of,
    members,
    words,
)
from trtlint.language.functions import FUNCTIONS
from trtlint.language.operations import (
    ARITHMETIC,
    COMPARISONS,
    Code,
    Names,
    negative,
    plain,
    truth,
)
from trtlint.language.syntax import ExpressionError, column
from trtlint.target.target import Target
from trtlint.target.truth import Unknown, both, either

Checked = tuple[Kinds, Code]
"""The possible types of a part of an expression, and the closure that computes the part."""


class Compiler:
    """Compiler of one expression.

    - ``used`` collects the names that the expression reads.
    - ``scope`` contains the names that the expression may read. If ``scope`` is None, names and fields are
      not checked.
    """

    def __init__(self, text: str, scope: Mapping[str, Any] | None) -> None:
        self.text = text
        self.scope = scope
        self.used: set[str] = set()
        self._done: dict[ast.expr, Checked] = {}

    def error(self, message: str, node: ast.AST) -> ExpressionError:
        """Return an error about a part of the expression, with the column of this part."""
        return ExpressionError(message, column(self.text, node))

    def shown(self, node: ast.expr) -> str:
        """Return the text of a part of the expression, for an error message."""
        text = ast.unparse(node)
        return repr(text if len(text) <= 60 else f"{text[:57]}...")

    def visit(self, node: ast.expr) -> Checked:
        """Compile a part of the expression.

        Raises:
            ExpressionError: the language does not support the syntax, or the types do not match.
        """
        if node not in self._done:
            handler = self._HANDLERS.get(type(node).__name__)
            if handler is None:
                word = _WORDS.get(type(node).__name__, type(node).__name__.lower())
                raise self.error(f"an expression of a rule cannot contain {word}", node)
            self._done[node] = handler(self, node)
        return self._done[node]

    def condition(self, node: ast.expr) -> Checked:
        """Compile a part of the expression, and raise an error if it is not a condition."""
        kinds, code = self.visit(node)
        if kinds and not has(kinds, "truth"):
            raise self.error(f"the expression must be a condition, but is {words(kinds)}", node)
        return TRUTH, code

    def _constant(self, node: ast.Constant) -> Checked:
        value = node.value
        if isinstance(value, bool | int | float | str):
            return constant(value), lambda _: value
        if value is None:
            raise self.error("None is not allowed: write known(x) or not known(x)", node)
        raise self.error(f"a literal cannot be {value!r}", node)

    def _name(self, node: ast.Name) -> Checked:
        name = node.id
        kinds = ANYTHING if self.scope is None else self._kinds_of_name(node, self.scope)
        self.used.add(name)
        return kinds, lambda names: plain(names.get(name))

    def _kinds_of_name(self, node: ast.Name, scope: Mapping[str, Any]) -> Kinds:
        name = node.id
        if name not in scope:
            if name in FUNCTIONS:
                raise self.error(f"{name!r} is a function: write {FUNCTIONS[name].signature}", node)
            raise self.error(f"unknown name {name!r}{did_you_mean(name, scope)}", node)
        return kinds_of(scope[name])

    def _attribute(self, node: ast.Attribute) -> Checked:
        kinds, owner = self.visit(node.value)
        field = node.attr
        found = ANYTHING if self.scope is None else self._kinds_of_field(node, kinds)

        def read(names: Names) -> object:
            record = owner(names)
            if isinstance(record, Unknown):
                return record
            value = getattr(record, field, None)
            if value is None and isinstance(record, Target):
                return Unknown(record.needs(field))
            return plain(value)

        return found, read

    def _kinds_of_field(self, node: ast.Attribute, kinds: Kinds) -> Kinds:
        field = node.attr
        records = [kind.cls for kind in kinds if kind.name == "record" and kind.cls is not None]
        if not records and kinds:
            raise self.error(f"{self.shown(node.value)} is {words(kinds)} and has no field {field!r}", node)
        found: list[Kind] = []
        for cls in records:
            found += members(cls).get(field, ())
        if not any(field in members(cls) for cls in records):
            known = [name for cls in records for name in members(cls)]
            where = " or ".join(cls.__name__ for cls in records)
            raise self.error(f"{where} has no field {field!r}{did_you_mean(field, known)}", node)
        return tuple(dict.fromkeys(found))

    def _subscript(self, node: ast.Subscript) -> Checked:
        kinds, many = self.visit(node.value)
        try:
            index = ast.literal_eval(node.slice)
        except (ValueError, TypeError):
            index = None
        if isinstance(index, bool) or not isinstance(index, int | str):
            raise self.error("the index must be an integer or a quoted text", node.slice)
        wanted = "mapping" if isinstance(index, str) else "tuple"
        fitting = [kind for kind in kinds if kind.name in (wanted, "anything")]
        if kinds and not fitting:
            message = f"{self.shown(node.value)} is {words(kinds)}, which has no element [{index!r}]"
            raise self.error(message, node)
        keys = tuple(key for kind in fitting if kind.name == "mapping" for key in kind.keys)
        if keys and len(fitting) == 1:
            self._may_equal((node.value, keys), (node.slice, constant(index)))
        items = [item for kind in fitting for item in (ANYTHING if kind.name == "anything" else kind.items)]
        return tuple(dict.fromkeys(items)), element_of(
            many, index, node.value.id if isinstance(node.value, ast.Name) else None
        )

    def _tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Checked:
        parts = [self.visit(part) for part in node.elts]
        items = tuple(dict.fromkeys(kind for kinds, _ in parts for kind in kinds))
        kinds = (Kind("tuple", items=items),)
        codes = tuple(code for _, code in parts)
        if _literals(*node.elts):
            value = tuple(code({}) for code in codes)
            return kinds, lambda _: value
        return kinds, lambda names: tuple(code(names) for code in codes)

    def _bool_op(self, node: ast.BoolOp) -> Checked:
        codes = [self.condition(part)[1] for part in node.values]
        if isinstance(node.op, ast.Or):
            return TRUTH, joined(codes, True, either)
        return TRUTH, joined(codes, False, both)

    def _unary_op(self, node: ast.UnaryOp) -> Checked:
        if isinstance(node.op, ast.Not):
            return TRUTH, negated(self.condition(node.operand)[1])
        if isinstance(node.op, ast.Invert):
            raise self.error("an expression of a rule cannot contain '~'; write 'not'", node)
        code = self._number(node.operand)
        literal = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if isinstance(literal, int | float) and isinstance(node.op, ast.USub):
            value = -literal
            return constant(value), lambda _: value
        return NUMBER, (lambda names: negative(code(names))) if isinstance(node.op, ast.USub) else code

    def _number(self, node: ast.expr) -> Code:
        kinds, code = self.visit(node)
        if kinds and not has(kinds, "number"):
            raise self.error(f"the expression must be a number, but is {words(kinds)}", node)
        return code

    def _bin_op(self, node: ast.BinOp) -> Checked:
        compute = ARITHMETIC.get(type(node.op).__name__)
        if compute is None:
            hint = {"BitAnd": "; write 'and'", "BitOr": "; write 'or'"}.get(type(node.op).__name__, "")
            raise self.error(f"an expression of a rule cannot contain this operator{hint}", node)
        left, right = self._number(node.left), self._number(node.right)
        return NUMBER, lambda names: compute(left(names), right(names))

    def _compare(self, node: ast.Compare) -> Checked:
        parts = [node.left, *node.comparators]
        checked = [self.visit(part) for part in parts]
        links = []
        for position, operation in enumerate(node.ops):
            name = type(operation).__name__
            if name not in COMPARISONS:
                raise self.error("'is' is not supported: write == or known(x)", parts[position + 1])
            left, right = parts[position], parts[position + 1]
            self._comparable(name, (left, checked[position][0]), (right, checked[position + 1][0]))
            links.append((COMPARISONS[name], checked[position][1], checked[position + 1][1]))
        if len(links) == 1:
            compare, first, second = links[0]
            return TRUTH, among(first, node) or (lambda names: compare(first(names), second(names)))
        return TRUTH, lambda names: both(*(link(a(names), b(names)) for link, a, b in links))

    def _comparable(self, name: str, left: tuple[ast.expr, Kinds], right: tuple[ast.expr, Kinds]) -> None:
        """Raise an error if a comparison of two types always gives the same result, or has no meaning."""
        if name in ("Lt", "LtE", "Gt", "GtE"):
            if has(left[1], "tuple") and has(right[1], "tuple"):
                return  # release numbers: target.release < (11, 3)
            for node, kinds in (left, right):
                if kinds and not has(kinds, "number"):
                    hint = "; to compare versions, use the rule's key 'applies'" if has(kinds, "text") else ""
                    raise self.error(
                        f"a comparison with <, <=, > or >= needs numbers, but one side is "
                        f"{words(kinds)}{hint}",
                        node,
                    )
        elif name in ("Eq", "NotEq"):
            self._may_equal(left, right)
        else:
            node, kinds = right
            if kinds and not (has(kinds, "tuple") or has(kinds, "text") or has(kinds, "mapping")):
                raise self.error(
                    f"the right side of 'in' must be a tuple, mapping or text, but is {words(kinds)}", node
                )
            if isinstance(node, ast.Tuple | ast.List | ast.Set):
                for part in node.elts:
                    self._may_equal(left, (part, self.visit(part)[0]))
            elif kinds and all(kind.name == "text" for kind in kinds):
                if left[1] and not has(left[1], "text"):
                    raise self.error(
                        f"the left side of 'in' must be a text, but is {words(left[1])}", left[0]
                    )
            elif not has(kinds, "text"):
                items = tuple(
                    item for kind in kinds for item in (kind.keys if kind.name == "mapping" else kind.items)
                )
                if items and not any(kind.name == "anything" for kind in kinds):
                    self._may_equal(left, (node, items))

    def _may_equal(self, left: tuple[ast.expr, Kinds], right: tuple[ast.expr, Kinds]) -> None:
        (left_node, left_kinds), (right_node, right_kinds) = left, right
        if not left_kinds or not right_kinds or _literals(left_node, right_node):
            return
        shared = {kind.name for kind in left_kinds} & {kind.name for kind in right_kinds}
        if any(kind.name == "anything" for kind in (*left_kinds, *right_kinds)):
            return
        if not shared:
            message = (
                f"the comparison never holds: {words(left_kinds)} and {words(right_kinds)} are never equal"
            )
            raise self.error(message, right_node)
        for name in shared:
            ours, theirs = choices(left_kinds, name), choices(right_kinds, name)
            if ours is None or theirs is None or ours & theirs:
                return
        wrong, node = (theirs, right_node) if isinstance(right_node, ast.Constant) else (ours, left_node)
        allowed = ours if wrong is theirs else theirs
        assert wrong is not None
        assert allowed is not None
        word = next(iter(wrong))
        known = ", ".join(repr(choice) for choice in sorted(allowed, key=str))
        near = did_you_mean(word, [c for c in allowed if isinstance(c, str)]) if isinstance(word, str) else ""
        raise self.error(f"{word!r} is not one of {known}{near}", node)

    def _if_exp(self, node: ast.IfExp) -> Checked:
        _, test = self.condition(node.test)
        (kinds, chosen), (others, other) = self.visit(node.body), self.visit(node.orelse)

        def choose(names: Names) -> object:
            answer = truth(test(names))
            if isinstance(answer, Unknown):
                return answer
            return chosen(names) if answer else other(names)

        return tuple(dict.fromkeys((*kinds, *others))), choose

    def _call(self, node: ast.Call) -> Checked:
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            raise self.error(f"unknown function {self.shown(node.func)}{did_you_mean(name, FUNCTIONS)}", node)
        function = FUNCTIONS[node.func.id]
        parameters = list(function.parameters)
        if function.variadic:
            parameters += parameters[-1:] * (len(node.args) - len(parameters))
        if len(node.args) != len(parameters):
            raise self.error(f"write {function.signature}", node)
        codes = [self._argument(a, kinds) for a, kinds in zip(node.args, parameters, strict=True)]
        named: dict[str, Code] = {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in function.optional:
                raise self.error(f"write {function.signature}", keyword.value)
            named[keyword.arg] = self._argument(keyword.value, function.optional[keyword.arg])
        return function.result, calling(function, codes, named)

    def _argument(self, node: ast.expr, wanted: Kinds) -> Code:
        kinds, code = self.visit(node)
        for kind in kinds:
            for want in wanted:
                if "anything" in (kind.name, want.name):
                    return code
                if kind.name == want.name and want.cls in (None, kind.cls) and items_fit(kind, want):
                    return code
        if kinds:
            needed = " or ".join(map(str, wanted))
            raise self.error(f"{self.shown(node)} is {words(kinds)}, but must be {needed}", node)
        return code

    _HANDLERS: Mapping[str, Callable[[Compiler, Any], Checked]] = {
        "Constant": _constant,
        "Name": _name,
        "Attribute": _attribute,
        "Subscript": _subscript,
        "Tuple": _tuple,
        "List": _tuple,
        "Set": _tuple,
        "BoolOp": _bool_op,
        "UnaryOp": _unary_op,
        "BinOp": _bin_op,
        "Compare": _compare,
        "IfExp": _if_exp,
        "Call": _call,
    }


_WORDS = {
    "JoinedStr": "an f-string",
    "ListComp": "a comprehension",
    "SetComp": "a comprehension",
    "DictComp": "a comprehension",
    "GeneratorExp": "a comprehension",
    "NamedExpr": "an assignment",
    "Starred": "a star",
    "Dict": "a dictionary",
    "Lambda": "a lambda",
}


def _literals(*nodes: ast.expr) -> bool:
    return all(isinstance(node, ast.Constant) for node in nodes)
