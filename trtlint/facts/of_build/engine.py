"""Facts about an engine as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from trtlint.buildfiles.record import BuildRecord
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.layer import EngineType, LayerFact

_TINY = 0.01
"""Time in milliseconds below which a layer counts as tiny.

For such a layer, the launch of the kernel takes about as much time as the computation.  A launch takes some
microseconds: https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/best-practices.html.
"""


class EngineFact(Fact, frozen=True):
    """An engine with its layers or layer times.  Times are average milliseconds for one inference.

    Attributes:
        file: the file with the layers. If there is no such file, the file with the layer times.
        layers: number of layers.
        timed_layers: number of layers in the profile with a time above zero.
        detailed: True if the file has details of the layers; False if the file has only the names of the
            layers.
        joined: number of model nodes for which trtlint found a layer of the engine.
        reformat_layers: number of layers that only copy a tensor into another layout or type.
        precisions: the types in which the layers compute. Reformat layers and unknown types are left out.
        profiles: number of optimization profiles.
        ms: total time of all layers; None if no file has the layer times.
        reformat_ms: total time of the reformat layers.
        reformat_share: ``reformat_ms`` as a share of ``ms``, 0 to 1.
        tiny_layers: number of tiny layers, whose time is above zero but less than 10 microseconds.
        tiny_share: the time of the tiny layers as a share of ``ms``, 0 to 1.
        top_layer: the name of the slowest layer.
        top_share: the time of the slowest layer as a share of ``ms``, 0 to 1.
        inputs: names of the engine's inputs, if the file distinguishes inputs from outputs.
        outputs: names of the engine's outputs.
    """

    file: str
    layers: int
    timed_layers: int | None
    detailed: bool
    joined: int
    reformat_layers: int
    precisions: frozenset[EngineType]
    profiles: int
    ms: float | None
    reformat_ms: float | None
    reformat_share: float | None
    tiny_layers: int | None
    tiny_share: float | None
    top_layer: str | None
    top_share: float | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def place(self) -> str:
        """The location in reports: the file with the layers or their times."""
        return self.file


class _TimedLayer(Struct, frozen=True):
    """A layer and its time, as in the profile."""

    name: str
    ms: float
    reformat: bool


def find(facts: Facts) -> Iterator[EngineFact]:
    """Yield the fact about the engine, or nothing if no file lists layers or layer times."""
    record = facts.record
    if record is None or (record.layers is None and record.profile is None):
        return
    layers = [fact for fact in facts.of("layer") if isinstance(fact, LayerFact)]
    timed = _timed(record, layers)
    total = sum(layer.ms for layer in timed)
    top_layer = max(timed, key=lambda layer: layer.ms, default=None) if total else None
    reformat_ms = sum(layer.ms for layer in timed if layer.reformat)
    tiny = [layer.ms for layer in timed if 0 < layer.ms < _TINY]
    working = frozenset(layer.precision for layer in layers if layer.precision and not layer.reformat)
    tensors = () if record.layers is None else record.layers.tensors
    yield EngineFact(
        file=record.layers_name or record.profile_name,
        layers=len(layers) or len(timed),
        timed_layers=sum(layer.ms > 0 for layer in timed) if timed else None,
        detailed=record.layers is not None and record.layers.detailed,
        joined=0 if facts.joined is None else len(facts.joined.layers),
        reformat_layers=sum(layer.reformat for layer in layers or timed),
        precisions=working,
        profiles=1 + max((layer.profile for layer in layers), default=0),
        ms=total or None,
        reformat_ms=reformat_ms if total else None,
        reformat_share=reformat_ms / total if total else None,
        tiny_layers=len(tiny) if total else None,
        tiny_share=sum(tiny) / total if total else None,
        top_layer=None if top_layer is None else top_layer.name,
        top_share=None if top_layer is None else top_layer.ms / total,
        inputs=tuple(tensor.name for tensor in tensors if tensor.is_input),
        outputs=tuple(tensor.name for tensor in tensors if tensor.is_input is False),
    )


def _timed(record: BuildRecord, layers: list[LayerFact]) -> list[_TimedLayer]:
    if record.profile is None:
        return []
    known = {layer.name: layer for layer in layers}
    found = []
    for time in record.profile.layers:
        layer = known.get(time.name)
        reformat = time.name.startswith("Reformatting CopyNode") if layer is None else layer.reformat
        found.append(_TimedLayer(time.name, time.average, reformat))
    return found
