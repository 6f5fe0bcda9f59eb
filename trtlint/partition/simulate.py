"""Divide a model into parts with NVIDIA's parser, in a separate process."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from trtlint.dry_build.weights import staged
from trtlint.dry_build.wheels import HIDE_GPUS, Wheels
from trtlint.knowledge.providers import Provider
from trtlint.partition.regions import parts_with_bodies, shapeless_words
from trtlint.partition.result import Partition, ProviderSettings, RemainingNode
from trtlint.process.spawn import Limits, ProcessResult, run

_WORK = "trtlint.partition._parser"


class Simulation(Struct, frozen=True):
    """The partition of a model by an execution provider, computed with NVIDIA's parser.

    Attributes:
        partition: the parts; None if the process crashed or was stopped.
        version: release of the parser.
        rewritten: whether ONNX Runtime's rewrites were applied to the graph.
        ended: how the process ended, in words.
    """

    partition: Partition | None
    version: str
    rewritten: bool = False
    ended: str = ""


def simulate(
    model: Path,
    provider: Provider,
    wheels: Wheels,
    settings: ProviderSettings,
    *,
    limits: Limits | None = None,
    rewrite: bool = True,
) -> Simulation:
    """Divide a model into parts with NVIDIA's parser, in the same way as an execution provider.

    If ``rewrite`` is true, ONNX Runtime's rewrites are applied first.

    Raises:
        DryBuildError: the parser cannot read this model.
        ModelError: the file is not a model.
    """
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        given = staged(model, Path(folder))
        request = {
            "model": str(given.path),
            "provider": provider,
            "rewrite": rewrite,
            "settings": to_builtins(settings),
        }
        ended = run(_WORK, request, limits or Limits(), paths=(wheels.folder,), environment=HIDE_GPUS)
    return _read(ended, provider, wheels.version)


def _read(ended: ProcessResult, provider: Provider, version: str) -> Simulation:
    found = next((each for each in ended.answers if "scopes" in each), None)
    if found is None:
        return Simulation(None, version, ended=ended.words)
    scopes = found["scopes"]
    added = {path for scope in scopes for path in scope["added"]}
    regions = parts_with_bodies(
        (_owner(scope["scope"]), [path for path, _ in scope["nodes"]], scope["parts"], scope["whole"])
        for scope in reversed(scopes)  # outer graphs come before their subgraphs
    )
    taken = {path for part in regions for path in part}
    parts = _with_merged(regions, found["merged"], added)
    dropped = tuple(
        f"{scope['nodes'][region[0]][0]}: {why}" for scope in scopes for region, why in _given_up(scope)
    )
    dropped += tuple(
        f"{scope['scope'] or 'the model'}: {scope['rejected']}" for scope in scopes if scope["rejected"]
    )
    left = dict.fromkeys(
        RemainingNode(*each)
        for scope in reversed(scopes)
        for path, op in scope["nodes"]
        if path not in taken
        for each in (*found["merged"].get(path, ()), (path, op))
    )
    joined = any(scope["joined"] for scope in scopes)
    failure = shapeless_words(found["shapeless"]) if provider == "tensorrt" else ""
    partition = Partition(
        provider, "parser", parts, tuple(left), joined=joined, dropped=dropped, failure=failure,
        calls=found["calls"],
    )  # fmt: skip
    return Simulation(partition, version, rewritten=found["rewritten"], ended=ended.words)


def _owner(scope: str) -> str | None:
    """Return the path of the node that contains a subgraph, or None for the main graph."""
    return scope.rpartition("/")[0] if scope else None


def _with_merged(
    parts: Iterable[list[str]], merged: Mapping[str, list[list[str]]], added: Collection[str]
) -> tuple[tuple[str, ...], ...]:
    """Replace rewritten nodes in parts by the original nodes in the file.

    A copied node counts once.

    Args:
        parts: the paths of the nodes of each part.
        merged: for the path of each remaining node, the nodes that ONNX Runtime merged into it. They join the
            part of the remaining node.
        added: the paths of the nodes that ONNX Runtime added.  They are left out.
    """
    found = []
    for part in parts:
        own = [path for path in part if path not in added] or part
        found.append(
            tuple(
                dict.fromkeys(each for path in own for each in (*(p for p, _ in merged.get(path, ())), path))
            )
        )
    return tuple(found)


def _given_up(scope: Mapping[str, Any]) -> Iterator[tuple[list[int], str]]:
    for region in scope["small"]:
        yield region, f"the region has {len(region)} nodes, fewer than the minimum size of a part"
    for region in scope["cyclic"]:
        yield region, "the region is part of a cycle"
