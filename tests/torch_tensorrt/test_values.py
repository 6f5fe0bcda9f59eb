"""Tests of values of names and dictionaries in the statements of a script."""

from __future__ import annotations

import ast

import pytest

from trtlint.torch_tensorrt.events import statements_of
from trtlint.torch_tensorrt.syntax import imports_of
from trtlint.torch_tensorrt.values import UNKNOWN, Entries, Place, QualifiedName, ScriptScope, dotted

LAST = 1000


def scope(text: str, parameters: tuple[str, ...] = (), outer: ScriptScope | None = None) -> ScriptScope:
    """Return the scope of a script."""
    tree = ast.parse(text)
    imports = imports_of(tree) if outer is None else outer.imports
    return ScriptScope(tree.body, frozenset(parameters), outer, imports)


def end(of: str | ScriptScope, line: int = LAST) -> Place:
    """Return a place in a script or scope, outside of blocks."""
    return Place(scope(of) if isinstance(of, str) else of, (), line)


def expression(text: str) -> ast.expr:
    """Return the syntax tree of an expression."""
    return ast.parse(text, mode="eval").body


def value(name: str, text: str = "") -> object:
    """Return the value of an expression at the end of a script."""
    return end(text).value(expression(name))


def shown(entries: Entries) -> tuple[dict[str, str], bool]:
    """Return entries as text, and whether they are complete."""
    return {key: ast.unparse(each.node) for key, each in entries.entries.items()}, entries.complete


def entries(name: str, text: str = "") -> tuple[dict[str, str], bool]:
    """Return the entries of a dictionary at the end of a script."""
    return shown(end(text).entries(expression(name)))


NOTHING: tuple[dict[str, str], bool] = ({}, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("None", None),
        ("'a'", "a"),
        ("{}", ()),
        ("{1: 2}", UNKNOWN),
        ("[1, (2, {3})]", (1, (2, (3,)))),
        ("[1, f()]", UNKNOWN),
        ("[*a]", UNKNOWN),
        ("[1, *a]", UNKNOWN),
        ("set()", ()),
        ("list()", ()),
        ("tuple([1])", (1,)),
        ("frozenset({1})", (1,)),
        ("list(1)", UNKNOWN),
        ("list([1], [2])", UNKNOWN),
        ("list([1], key=2)", UNKNOWN),
        ("set(key=2)", UNKNOWN),
        ("sorted([1])", UNKNOWN),
        ("a.list([1])", UNKNOWN),
        ("f()", UNKNOWN),
        ("not True", False),
        ("not 1", UNKNOWN),
        ("-3", -3),
        ("-0.5", -0.5),
        ("-'a'", UNKNOWN),
        ("+3", UNKNOWN),
        ("~3", UNKNOWN),
        ("7 + 2", 9),
        ("7 - 2", 5),
        ("7 * 2", 14),
        ("7 // 2", 3),
        ("7 << 2", 28),
        ("7 / 2", UNKNOWN),
        ("7 % 2", UNKNOWN),
        ("7 // 0", UNKNOWN),
        ("0 // 7", 0),
        ("7 + 0", 7),
        ("7 << 0", 7),
        ("7 << -1", UNKNOWN),
        ("7 << 256", 7 << 256),
        ("7 << 257", UNKNOWN),
        ("0.5 + 1", UNKNOWN),
        ("1 + 0.5", UNKNOWN),
        ("a + 1", UNKNOWN),
        (f"{(1 << 256) - 1} + 1", 1 << 256),
        (f"{1 << 256} + 1", UNKNOWN),
        (f"1 + {1 << 256}", UNKNOWN),
        ("a", UNKNOWN),
        ("a.b", UNKNOWN),
        ("1 if a else 2", UNKNOWN),
        ("1 < 2", UNKNOWN),
        (f"[{'1, ' * 1000}]", (1,) * 1000),
        (f"[{'1, ' * 1001}]", UNKNOWN),
    ],
)
def test_expressions(text: str, expected: object) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1", 1),
        ("a: int = 1", 1),
        ("a: int", UNKNOWN),
        ("a = 1\na = 2", 2),
        ("a = b = 3", 3),
        ("a, b = 4, 5", 4),
        ("[b, a] = (4, 5)", 5),
        ("a, b = f()", UNKNOWN),
        ("a, b = 1, 2, 3", UNKNOWN),
        ("(a, c), b = (1, 2), 3", 1),
        ("a = 1\na += 1", UNKNOWN),
        ("a = 1\na |= {2}", UNKNOWN),
        ("a = 1\ndel a", UNKNOWN),
        ("a = 1\nfor a in b: pass", UNKNOWN),
        ("a = 1\nfor b, (c, a) in d: pass", UNKNOWN),
        ("a = 1\nwith f() as a: pass", UNKNOWN),
        ("a = 1\nwith f(): pass", 1),
        ("a = 1\nwith f() as b, g() as a: pass", UNKNOWN),
        ("with f():\n  a = 1", 1),
        ("a = 1\nglobal a", UNKNOWN),
        ("a = 1\na.b = 2", UNKNOWN),
        ("a = [1]\na.append(2)", UNKNOWN),
        ("a = [1]\na.index(2)", (1,)),
        ("a = [1]\nb = a.pop()", UNKNOWN),
        ("a = [1]\nfill(a)", UNKNOWN),
        ("a = [1]\nb = fill(1, a)", UNKNOWN),
        ("a = [1]\nprint(a)", (1,)),
        ("a = [1]\nfill(b)", (1,)),
        ("a = [1]\nfill(key=a)", (1,)),
        ("a = [1]\na['b'] = 2", UNKNOWN),
        ("a = [1]\na.extend(b)", UNKNOWN),
        ("a = [1]\na.sort()", UNKNOWN),
        ("a = {1}\na.update({2}, {3})", UNKNOWN),
        ("a = [1]\nb = wrap(a.pop())", UNKNOWN),
        ("a = [1]\nassert a.pop()", UNKNOWN),
        ("a = [1]\nb = [c for c in wrap(a)]", UNKNOWN),
        ("a = [1]\nwith wrap(a): pass", UNKNOWN),
        ("a = [1]\nwhile fill(a): pass", UNKNOWN),
        ("a = [1]\nmatch b:\n  case 1 if fill(a): pass", UNKNOWN),
        ("a = [1]\n@wrap(a)\ndef f(): pass", UNKNOWN),
        ("a = [1]\nb = f(\n  lambda: fill(a))", UNKNOWN),
        ("a = ([1],)\nassert fill(a)", UNKNOWN),
        ("a = tuple([b])\nassert fill(a)", UNKNOWN),
        ("b = [1]\na = b\nassert fill(a)", UNKNOWN),
        ("a = [1]\nfor b in range(len(a)): print(max(a))", (1,)),
        ("from torch.export import export\na = [1]\nb = g(export(m, a))", (1,)),
        ("from b import fill\na = [1]\nb = g(fill(m, a))", UNKNOWN),
        ("a = [1]\nb = [fill(*a), torch.add(a), fill(a[0])]", (1,)),
        ("a = 1\nfill(a)", 1),
        ("a = (1, -2)\nif fill(a): pass", (1, -2)),
        ("a = 1\nif fill(a): a = 2", UNKNOWN),
        ("import torch\na = torch.half\nfill(a)", QualifiedName("torch.half")),
        ("import a\nfill(a)", QualifiedName("a")),
        ("fill(a)\na = [1]", (1,)),
        ("fill(a)", UNKNOWN),
        ("a = 1\nif (a := f()): pass", UNKNOWN),
        ("a = 1\nb = [a := c for c in d]", UNKNOWN),
        ("a = 1\ntry: pass\nexcept E as a: pass", UNKNOWN),
        ("a = 1\nmatch b:\n  case a: pass", UNKNOWN),
        ("a = 1\nmatch b:\n  case [*a]: pass", UNKNOWN),
        ("a = 1\nmatch b:\n  case {**a}: pass", UNKNOWN),
        ("a = 1\nmatch b:\n  case {**c}: pass", 1),
        ("a = 1\ntry: pass\nexcept E: pass", 1),
        ("if b:\n  a = 1", UNKNOWN),
        ("a = 1\nif b:\n  a = 2", UNKNOWN),
        ("if b:\n  a = 2\na = 1", 1),
        ("a = 1\nif b:\n  pass\nelse:\n  a = 2", UNKNOWN),
        ("a = 1\ntry:\n  pass\nexcept E:\n  a = 2", UNKNOWN),
        ("a = 1\ntry:\n  pass\nfinally:\n  a = 2", UNKNOWN),
        ("a = 1\nmatch b:\n  case 1:\n    a = 2", UNKNOWN),
        ("a = 1\nwhile b:\n  a = 2", UNKNOWN),
        ("if __name__ == '__main__':\n  a = 1", 1),
        ("if __name__ == '__main__':\n  a = 1\nelse:\n  a = 2", UNKNOWN),
        ("if name == '__main__':\n  a = 1", UNKNOWN),
        ("a = 1\ndef f():\n  a = 2", 1),
        ("a = 1\nclass A:\n  a = 2", 1),
        ("import torch\na = torch.half", QualifiedName("torch.half")),
        ("import torch.nn as a", QualifiedName("torch.nn")),
        ("import a\na = 1", 1),
        ("from torch import half as a", QualifiedName("torch.half")),
        ("from torch_tensorrt._enums import dtype as a", QualifiedName("torch_tensorrt.dtype")),
        (
            "import torch_tensorrt\na = torch_tensorrt._enums.dtype.f16",
            QualifiedName("torch_tensorrt.dtype.f16"),
        ),
        ("b = 2\na = [b, 3]", (2, 3)),
        ("b = 2\na = b\nb = 3", 2),
        ("a = a", UNKNOWN),
    ],
)
def test_values_of_a_name(text: str, expected: object) -> None:
    assert value("a", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = {'b': 1, 'c': d}", ({"b": "1", "c": "d"}, True)),
        ("a = {'b': 1, 'b': 2}", ({"b": "2"}, True)),
        ("a = {'b': 1, 2: 3}", ({"b": "1"}, False)),
        ("a = {'b': 1, c: 3}", ({"b": "1"}, False)),
        ("a = {**{'b': 1}, 'c': 2}", ({"b": "1", "c": "2"}, True)),
        ("a = {'b': 1, **f()}", ({"b": "1"}, False)),
        ("a = dict()", ({}, True)),
        ("a = dict({'b': 1}, c=2, **{'d': 3})", ({"b": "1", "c": "2", "d": "3"}, True)),
        ("a = dict([('b', 1)])", NOTHING),
        ("a = dict({'b': 1}, {'c': 1})", NOTHING),
        ("a = f(b=1)", NOTHING),
        ("a = b.dict(c=1)", NOTHING),
        ("a = {'b': 1} | {'c': 2}", ({"b": "1", "c": "2"}, True)),
        ("a = {'b': 1} | f()", ({"b": "1"}, False)),
        ("a = f() | {'b': 1}", ({"b": "1"}, False)),
        ("a = {'b': 1} + {'c': 2}", NOTHING),
        ("a = {'b': 1}\na |= {'c': 2}", ({"b": "1", "c": "2"}, True)),
        ("a = {'b': 1}\na -= {'c': 2}", NOTHING),
        ("a = {'b': 1}\na['c'] = 2", ({"b": "1", "c": "2"}, True)),
        ("a = {'b': 1}\na[c] = 2", NOTHING),
        ("a = {'b': 1}\na.update({'b': 2}, )", ({"b": "2"}, True)),
        ("a = {'b': 1}\na.update({'c': 2}, d=3, **{'e': 4})",
         ({"b": "1", "c": "2", "d": "3", "e": "4"}, True)),
        ("a = {'b': 1}\na.update(f())", ({"b": "1"}, False)),
        ("a = {'b': 1}\na.update({}, {})", NOTHING),
        ("a = {'b': 1}\nif fill(a): pass", NOTHING),
        ("a = {'b': 1}\nc = [a.update(b=2)]", NOTHING),
        ("a = {'b': 1}\na.update({'c': a.pop('b')})", NOTHING),
        ("a = {'b': 1}\na.update(b=2)\nif len(a): pass", ({"b": "2"}, True)),
        ("a = {'b': 1} | {'c': 2}\nassert fill(a)", NOTHING),
        ("a = dict(b=1)\nassert fill(a)", NOTHING),
        ("a = fill(a)\na = {'b': 1}", ({"b": "1"}, True)),
        ("a = {'b': 1}\na['b'] |= 2", NOTHING),
        ("a = {'b': 1}\nb = a.setdefault('c', 2)", NOTHING),
        ("a = {'b': 1}\na.get('b')", ({"b": "1"}, True)),
        ("a = {'b': 1}\nif c:\n  a['b'] = 2", NOTHING),
        ("a = {'b': 1}\nif c:\n  a = {}", NOTHING),
        ("a['b'] = 1", NOTHING),
        ("b = {'c': 1}\na = b\nb['d'] = 2", ({"c": "1"}, True)),
        ("a = 3", NOTHING),
        ("", NOTHING),
    ],
)  # fmt: skip
def test_entries_of_a_dictionary(text: str, expected: tuple[dict[str, str], bool]) -> None:
    assert entries("a", text) == expected


def test_a_dictionary_with_more_than_1000_entries_is_unknown() -> None:
    for count, known in ((1000, True), (1001, False)):
        words = ", ".join(f"a{number}=1" for number in range(count))
        pairs = ", ".join(f"'a{number}': 1" for number in range(count))
        assert [len(entries(text)[0]) for text in (f"dict({words})", f"{{{pairs}}}")] == [count * known] * 2
        assert [entries(text)[1] for text in (f"dict({words})", f"{{{pairs}}}")] == [known] * 2


def test_the_line_of_an_entry() -> None:
    text = "a = {\n  'b': 1,\n  'c': 2,\n}\na['d'] = 3\na.update(\n  e=4)\nb = dict(\n  f=5, **a)"
    found = end(text).entries(expression("b")).entries
    assert {key: (each.key, each.line) for key, each in found.items()} == {
        "f": ("f", 9), "b": ("b", 2), "c": ("c", 3), "d": ("d", 5), "e": ("e", 6),
    }  # fmt: skip


def chain(count: int, first: str, each: str) -> str:
    """Assign each name from the one before."""
    return "\n".join([f"a0 = {first}", *(f"a{i} = {each.format(i - 1)}" for i in range(1, count + 1))])


@pytest.mark.parametrize(
    ("each", "most"), [("a{}", 39), ("(a{},)", 19), ("-a{}", 19), ("a{} + 1", 19), ("1 + a{}", 19),
                       ("list([a{}])", 12)],
)  # fmt: skip
def test_a_value_is_followed_40_steps(each: str, most: int) -> None:
    first = "[1]" if "list" in each else "1"
    assert value(f"a{most}", chain(most, first, each)) is not UNKNOWN
    assert value(f"a{most + 1}", chain(most + 1, first, each)) is UNKNOWN


@pytest.mark.parametrize(
    ("each", "most"),
    [
        ("a{}", 39),
        ("{{**a{}}}", 19),
        ("dict(a{})", 19),
        ("dict(**a{})", 19),
        ("a{} | {{}}", 19),
        ("{{}} | a{}", 19),
    ],
)
def test_a_dictionary_is_followed_40_steps(each: str, most: int) -> None:
    assert entries(f"a{most}", chain(most, "{'b': 1}", each)) == ({"b": "1"}, True)
    assert entries(f"a{most + 1}", chain(most + 1, "{'b': 1}", each))[1] is False


@pytest.mark.parametrize("update", ["a{0}.update(a{1})", "a{0} |= a{1}"])
def test_updates_of_a_dictionary_are_followed_40_steps(update: str) -> None:
    def text(count: int) -> str:
        lines = ["a0 = {'b': 1}"]
        for number in range(1, count + 1):
            lines += [f"a{number} = {{}}", update.format(number, number - 1)]
        return "\n".join(lines)

    assert entries("a39", text(39)) == ({"b": "1"}, True)
    assert entries("a41", text(41)) == NOTHING


def test_outer_scopes_are_followed_40_steps() -> None:
    def inner(depth: int) -> ScriptScope:
        found = scope("a = 1\nb = {'c': 2}")
        for _ in range(depth):
            found = scope("", (), found)
        return found

    a, b = expression("a"), expression("b")
    assert [end(inner(depth)).value(a) for depth in (1, 39, 40)] == [1, 1, UNKNOWN]
    assert [shown(end(inner(depth)).entries(b)) for depth in (1, 39, 40)] == [
        ({"c": "2"}, True), ({"c": "2"}, True), NOTHING,
    ]  # fmt: skip


def test_names_of_outer_scopes() -> None:
    outer = scope("import torch\na = 1\nb = {'c': 2}\ndef f(): pass")
    plain, own = scope("", (), outer), scope("a = 3\nb = {'d': 4}", (), outer)
    given, later = scope("", ("a", "b"), outer), scope("\n\na = 3\nb = {}", (), outer)
    a, b = expression("a"), expression("b")
    assert [end(each).value(a) for each in (plain, own, given)] == [1, 3, UNKNOWN]
    assert [end(each).value(expression("torch")) for each in (plain, given)] == [QualifiedName("torch")] * 2
    assert [shown(end(each).entries(b)) for each in (plain, own, given)] == [
        ({"c": "2"}, True), ({"d": "4"}, True), NOTHING,
    ]  # fmt: skip
    # Before its own statement, the name of the function has no value.
    assert end(later, 2).value(a) is UNKNOWN
    assert shown(end(later, 2).entries(b)) == NOTHING
    found = end(plain).setting("a")
    assert found is not None
    assert (found[1].scope, found[1].line) == (outer, 2)
    assert [end(each, 2).setting("a") for each in (given, later)] == [None, None]


def test_calls_with_names_of_outer_scopes() -> None:
    outer = scope("import a\nb = (1, 2)\nc = [1]\nd = {'e': 1}\nf = [1]\nf = (1,)")
    inner = scope("\n" + "".join(f"g(fill({name}))\n" for name in "abcdf"), (), outer)
    assert [end(inner).value(expression(name)) for name in "abcf"] == [
        QualifiedName("a"),
        (1, 2),
        UNKNOWN,
        (1,),
    ]
    assert [end(inner, 2).value(expression(name)) for name in "abcf"] == [
        QualifiedName("a"),
        (1, 2),
        (1,),
        (1,),
    ]
    assert shown(end(inner).entries(expression("d"))) == NOTHING
    assert shown(end(inner, 2).entries(expression("d"))) == ({"e": "1"}, True)
    given = scope("fill(b)", ("b",), outer)
    assert end(given).value(expression("b")) is UNKNOWN


def test_a_call_changes_containers_after_its_last_line() -> None:
    found = scope("a = [1]\nb = fill(\n  a,\n  g(a.pop()),\n  3)")
    assert [end(found, line).value(expression("a")) for line in (2, 4, 5, 6)] == [
        (1,),
        (1,),
        UNKNOWN,
        UNKNOWN,
    ]


def test_an_exception_is_bound_in_its_handler() -> None:
    found = scope("a = 1\ntry:\n  f()\nexcept E as a:\n  pass")
    assert [end(found, line).value(expression("a")) for line in (3, 5)] == [1, UNKNOWN]


def test_the_last_assignment() -> None:
    found = scope("a = 1\na = 2\nb = {}\nb['c'] = 1\nc = f()\nif d:\n  c = 1")
    last = end(found).setting("a")
    assert last is not None
    assert (last[1].scope, last[1].line) == (found, 2)
    assert [end(found).setting(name) for name in "bcd"] == [None, None, None]
    number = expression("3")
    assert end(found).assigned(number) is number
    assigned = end(found).assigned(expression("a"))
    assert assigned is last[0]
    assert [end(found).assigned(expression(name)) for name in "bcd"] == [None, None, None]
    called = scope("a = f()\nb = [1]\nfill(a, b)\na.append(1)")
    assert end(called).setting("a") is not None
    assert end(called).setting("b") is None


def test_only_earlier_lines_count() -> None:
    found = scope("\na = 1\na = 2")
    assert [end(found, line).value(expression("a")) for line in (2, 3, 4)] == [UNKNOWN, 1, 2]


def test_a_block_sees_the_blocks_around_it() -> None:
    tree = ast.parse("if b:\n  a = 1\n  if c:\n    pass\nelse:\n  pass")
    own = ScriptScope(tree.body, frozenset(), None, {})
    at = {statement.lineno: block for statement, block in statements_of(tree.body)}
    a = expression("a")
    assert [Place(own, at[line], LAST).value(a) for line in (2, 4, 6, 1)] == [1, 1, UNKNOWN, UNKNOWN]


def test_a_name_with_many_changes_is_unknown() -> None:
    texts = ["a = 1\n" * count for count in (200, 201)]
    assert [value("a", text) for text in texts] == [1, UNKNOWN]


def test_a_file_has_50000_steps() -> None:
    outer = scope("")
    inner = scope("", (), outer)
    one, empty = expression("1"), expression("{}")
    assert all(end(inner).value(one) == 1 for _ in range(49_999))
    assert shown(end(outer).entries(empty)) == ({}, True)
    assert end(outer).value(one) is UNKNOWN
    assert shown(end(inner).entries(empty)) == NOTHING


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t", "torch"),
        ("t.nn.Linear", "torch.nn.Linear"),
        ("u.nn", ""),
        ("t().nn", ""),
        ("t" + ".a" * 39, "torch" + ".a" * 39),
        ("t" + ".a" * 40, ""),
    ],
)
def test_names_of_functions(text: str, expected: str) -> None:
    assert dotted(expression(text), {"t": "torch"}) == expected


def test_an_unknown_value_has_a_name() -> None:
    assert repr(UNKNOWN) == "unknown"
