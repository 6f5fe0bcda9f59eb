"""Tests of partitions as data."""

from __future__ import annotations

from trtlint.partition.result import Border, Partition, RemainingNode, Split


def test_a_partition_as_a_document() -> None:
    split = Split("Unique", ("u",), ("BLD201",), "no Unique", ("store-operand",), 1, 0, 16)
    found = Partition(
        "tensorrt",
        "predicted",
        (("a", "b"), ("c",)),
        (RemainingNode("u", "Unique"), RemainingNode("v", "Unique")),
        folded=("k", "l", "m"),
        borders=(Border("p", 16), Border("q", None), Border("r", 4)),
        splits=(split,),
        joined=True,
        dropped=("why",),
        failure="fails",
        calls=7,
    )
    assert (found.taken, found.total) == (3, 5)
    assert found.document == {
        "provider": "tensorrt",
        "basis": "predicted",
        "parts": [["a", "b"], ["c"]],
        "left": ["u", "v"],
        "splits": (
            {
                "op": "Unique",
                "nodes": ("u",),
                "rules": ("BLD201",),
                "why": "no Unique",
                "fixes": ("store-operand",),
                "parts": 1,
                "left": 0,
                "bytes": 16,
            },
        ),
        "nodes": 5,
        "taken": 3,
        "folded": 3,
        "joined": True,
        "dropped": ["why"],
        "failure": "fails",
        "borders": {"tensors": 3, "bytes": 20, "unknown": 1},
    }
