"""Operators whose treatment an upgrade of Torch-TensorRT changes."""

from __future__ import annotations

import pytest

from trtlint.engine import torchupgrade
from trtlint.engine.torchupgrade import Change, OperatorChange, program_upgrade
from trtlint.knowledge.torchreleases import TorchOperator, TorchRelease
from trtlint.torch_tensorrt.program import Program, ProgramNode

ALL = ("2.7.0", "2.8.0", "2.9.0", "2.10.0")
RELEASES = tuple(TorchRelease(version, "10.9.0", tagged=True) for version in ALL)


def nodes(op: str, *modules: str) -> list[ProgramNode]:
    return [ProgramNode(f"n{index}", op, module, "", "") for index, module in enumerate(modules)]


def changes(
    monkeypatch: pytest.MonkeyPatch, table: dict[str, TorchOperator], *found: ProgramNode
) -> tuple[OperatorChange, ...]:
    monkeypatch.setattr(torchupgrade, "torch_operators", lambda: table)
    upgrade = program_upgrade(Program("net.pt2", "2.9.0", "", tuple(found)), RELEASES)
    assert (upgrade.path, upgrade.kind, upgrade.releases) == ("net.pt2", "program", RELEASES)
    assert upgrade.operator_count == len(found)
    return upgrade.operators


@pytest.mark.parametrize(
    ("asked", "falls_back", "expected"),
    [
        (ALL, ALL[:1], ("converts", "2.8", "2.7")),
        (ALL, ALL[:3], ("converts", "2.10", "2.9")),
        (ALL, (ALL[0], ALL[2]), ("converts", "2.10", "2.9")),
        (ALL, ALL[1:], ("falls back", "2.8", "2.7")),
        (ALL, (ALL[0], ALL[3]), ("stays in PyTorch", "", "")),
        (ALL, ALL, ("stays in PyTorch", "", "")),
        (ALL, ALL[3:], ("falls back", "2.10", "2.9")),
        (ALL[:3], ALL[1:2], ("unknown", "", "")),
        (ALL[1:], ALL[1:2], ("unknown", "", "")),
        ((ALL[0], ALL[2], ALL[3]), ALL[2:], ("falls back", "2.9", "2.7")),
        ((ALL[0], ALL[1], ALL[3]), ALL[:2], ("converts", "2.10", "2.8")),
    ],
)
def test_the_change_of_an_operator(
    monkeypatch: pytest.MonkeyPatch,
    asked: tuple[str, ...],
    falls_back: tuple[str, ...],
    expected: tuple[Change, str, str],
) -> None:
    row = TorchOperator(asked, frozenset(falls_back), "aten.lowered.default")
    (found,) = changes(monkeypatch, {"a": row}, *nodes("a", "m"), *nodes("other", "m"))
    states = tuple(row.in_torch(version) for version in ALL)
    assert found == OperatorChange("a", "aten.lowered.default", *expected, states, 1, ("m",))


def test_operators_that_fall_back_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {
        name: TorchOperator(asked, frozenset(falls_back), name)
        for name, asked, falls_back in (
            ("unknown", ALL[:3], ALL[:1]),
            ("stays", ALL, ALL),
            ("converts", ALL, ALL[:1]),
            ("z", ALL, ALL[3:]),
            ("b", ALL, ALL[3:]),
            ("a", ALL, ALL[3:]),
            ("never", ALL, ()),
        )
    }
    used = [node for name in table for node in nodes(name, *("m",) * (2 if name == "z" else 1))]
    found = [(each.op, each.count) for each in changes(monkeypatch, table, *used)]
    assert found == [("z", 2), ("a", 1), ("b", 1), ("converts", 1), ("stays", 1), ("unknown", 1)]


def test_the_first_20_operators_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators of one module have one place, and an operator without a module has its name."""
    table = {"a": TorchOperator(ALL, frozenset(ALL), "a")}
    names = [f"m{index}" for index in range(21)]
    (found,) = changes(monkeypatch, table, *nodes("a", *names))
    assert (found.count, found.places) == (21, tuple(names[:20]))
    (found,) = changes(monkeypatch, table, *nodes("a", "m", "m", ""))
    assert (found.count, found.places) == (3, ("m", "n2"))
