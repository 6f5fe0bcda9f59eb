"""Facts about all options of an ONNX Runtime session with a TensorRT provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trtlint.buildcommand.shapes import shapes_of
from trtlint.facts.base import Fact
from trtlint.facts.blocks.profiles import dynamic_inputs
from trtlint.facts.facts import Facts
from trtlint.knowledge.providers import BOOLEANS, Provider

_PREFIX: Mapping[Provider, str] = {"tensorrt": "trt_", "nv-tensorrt-rtx": "nv_"}
_BOUNDS = ("min", "opt", "max")


class ProviderSession(Fact, frozen=True):
    """An ONNX Runtime session with a TensorRT provider.

    The fact exists only if provider options were given.

    Attributes:
        provider: ``tensorrt`` or ``nv-tensorrt-rtx``.
        names: the names of the given options.
        values: the values that are written as constants, by option.
        on: the boolean options that are on.
        complete: True if all values are written as constants.
        dynamic: the inputs with a dynamic dimension.
        bounds: the kinds of profile shapes that the options give, such as ``min``, ``opt`` and ``max``.
        without_profile: the dynamic inputs for which the given profile has no shapes; empty if the options
            give no profile.
        min_nodes: the fewest nodes that a subgraph must have to run in TensorRT; 1 if the options give no
            number.
        context: whether the session writes an EP context file (a saved engine).
        absolute_cache: whether the path of the engine cache is absolute.
        source: file and line; empty for options given as text.
    """

    provider: Provider
    names: tuple[str, ...]
    values: Mapping[str, str]
    on: tuple[str, ...]
    complete: bool
    dynamic: tuple[str, ...]
    bounds: tuple[str, ...]
    without_profile: tuple[str, ...]
    min_nodes: int
    context: bool
    absolute_cache: bool
    source: str

    @property
    def place(self) -> str:
        """The location in reports: the file and line of the options."""
        return self.source


def find(facts: Facts) -> Iterator[ProviderSession]:
    """Yield one fact if provider options were given.

    Options in a Triton configuration are left out, because separate rules check them.
    """
    command = facts.command
    if command is None or command.provider is None or command.tool != "onnxruntime":
        return
    provider = command.provider
    values = {option.name: option.value for option in command.options if option.value is not None}
    prefix = _PREFIX[provider]
    specs = shapes_of(command).specs
    bounds = tuple(each for each in _BOUNDS if values.get(f"{prefix}profile_{each}_shapes"))
    dynamic = tuple(value.name for value in dynamic_inputs(facts.model.graph.inputs))
    least = values.get("trt_min_subgraph_size", "")
    path = values.get("trt_engine_cache_path", "")
    yield ProviderSession(
        provider=provider,
        names=tuple(name for name in command.names if name not in ("provider", "model")),
        values=values,
        on=tuple(name for name, value in values.items() if BOOLEANS.get(value)),
        complete=command.complete and all(option.known for option in command.options),
        dynamic=dynamic,
        bounds=bounds,
        without_profile=tuple(
            name for name in dynamic if specs and not any(spec.means(name) for spec in specs)
        ),
        min_nodes=int(least) if least.isdecimal() and len(least) < 10 else 1,
        context=BOOLEANS.get(values.get("trt_dump_ep_context_model", "")) is True,
        absolute_cache=path.startswith(("/", "\\")) or path[1:2] == ":",
        source=command.place,
    )
