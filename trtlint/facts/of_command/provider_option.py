"""Facts about the options of ONNX Runtime's TensorRT providers, and about errors in these options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from trtlint.buildcommand import Option
from trtlint.facts.base import Fact
from trtlint.facts.facts import Facts
from trtlint.knowledge.providers import (
    BOOLEANS,
    PROVIDERS,
    WORDS,
    Provider,
    nearest_option,
    provider_options,
)

State = Literal["known", "unknown", "other-provider"]
_NOT_OPTIONS = frozenset({"provider", "model"})
_OF_SESSION = "ep.context"
_OF_TRITON = frozenset(
    {
        *("tensorrt", "default_model_filename", "precision_mode", "max_workspace_size_bytes"),
        *("int8_calibration_table_name", "int8_use_native_calibration_table"),
    }
)
"""Parameter names that Triton's backends translate into provider options.

https://github.com/triton-inference-server/onnxruntime_backend/blob/00fd3e8/README.md
"""
_SERVED = frozenset(
    {
        "trt_auxiliary_streams", "trt_build_heuristics_enable", "trt_builder_optimization_level",
        "trt_context_memory_sharing_enable", "trt_cuda_graph_enable", "trt_detailed_build_log",
        "trt_dla_core", "trt_dla_enable", "trt_dump_ep_context_model", "trt_dump_subgraphs",
        "trt_engine_cache_enable", "trt_engine_cache_path", "trt_engine_cache_prefix",
        "trt_ep_context_embed_mode", "trt_ep_context_file_path", "trt_extra_plugin_lib_paths",
        "trt_force_sequential_engine_build", "trt_force_timing_cache", "trt_layer_norm_fp32_fallback",
        "trt_max_partition_iterations", "trt_min_subgraph_size", "trt_profile_max_shapes",
        "trt_profile_min_shapes", "trt_profile_opt_shapes", "trt_sparsity_enable", "trt_tactic_sources",
        "trt_timing_cache_enable", "trt_timing_cache_path",
    }
)  # fmt: skip
"""The options that Triton passes on under their own names.  Triton rejects all other options.

https://github.com/triton-inference-server/onnxruntime_backend/blob/00fd3e8/src/onnxruntime.cc#L477
"""


class ProviderOptionFact(Fact, frozen=True):
    """An option of a TensorRT provider of ONNX Runtime.  The fact exists only if options were given.

    Attributes:
        provider: ``tensorrt`` or ``nv-tensorrt-rtx``.
        name: the name of the option in ONNX Runtime, such as ``trt_fp16_enable``.
        value: the value as written; empty if a script computes it.
        state: ``known`` if the given provider has the option; ``other-provider`` if only the other TensorRT
            provider has it; ``unknown`` if neither provider has it.
        instead: for an unknown option, the most similar known option; empty if no option is similar.
        fits: whether the option allows the value.  None if a script computes the value, or if the option is
            unknown.
        takes: the allowed values, as a text.
        on: whether a boolean option is on; None for a non-boolean option or a computed value.
        since: the first release with the option; empty if all known releases have the option.
        only: the only build of the RTX provider with the option: ``in-tree`` (part of ONNX Runtime) or
            ``plug-in`` (a separate library); empty if both builds have the option.
        group: ``precision`` or empty.
        served: whether Triton passes the option on; true if Triton is not used.
        source: file and line; empty for options given as text.
    """

    provider: Provider
    name: str
    value: str
    state: State
    instead: str
    fits: bool | None
    takes: str
    on: bool | None
    since: str
    only: str
    group: str
    served: bool
    source: str

    @property
    def place(self) -> str:
        """The location in reports: the file and line of the options, and the name of the option."""
        return f"{self.source} {self.name}".strip()


def find(facts: Facts) -> Iterator[ProviderOptionFact]:
    """Yield a fact for each provider option that was given."""
    command = facts.command
    provider = None if command is None else command.provider
    if command is None or provider is None:
        return
    skipped = _OF_TRITON if command.tool == "triton" else _NOT_OPTIONS
    for name in command.names:
        option = command.option(name)
        if option is not None and name not in skipped and not name.startswith(_OF_SESSION):
            served = command.tool != "triton" or name in _SERVED
            yield _fact(option, provider, command.place, served=served)


def _fact(option: Option, provider: Provider, source: str, *, served: bool) -> ProviderOptionFact:
    known = provider_options(provider).get(option.name)
    value = option.value or ""
    others = [other for other in PROVIDERS if other != provider and option.name in provider_options(other)]
    state: State = "known" if known is not None else "other-provider" if others else "unknown"
    computed = not option.known
    return ProviderOptionFact(
        provider=provider,
        name=option.name,
        value=value,
        state=state,
        instead="" if state != "unknown" else nearest_option(option.name, provider),
        fits=None if known is None or computed else known.takes(value),
        takes="" if known is None else WORDS[known.kind],
        on=None if known is None or computed or known.kind != "bool" else BOOLEANS.get(value),
        since="" if known is None else known.since,
        only="" if known is None else known.only,
        group="" if known is None else known.group,
        served=served,
        source=source,
    )
