"""Suggest files to explain the problems in a log, if the user gave the log without its model.

trtlint suggests a file only if this file could explain the problem.  For example, a model cannot explain why
a library does not load.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trtlint.buildfiles.patterns import table
from trtlint.engine.finding import Finding, Suggestion
from trtlint.facts.facts import Facts
from trtlint.facts.of_build.build import BuildFact
from trtlint.facts.of_build.log_message import LogMessage
from trtlint.knowledge.releases import PRODUCTS

_OF_MODEL = frozenset({"parse", "optimise", "tactics", "weights"})
"""Build phases with messages about the model. Other phases are about loading, libraries or devices."""
_REJECTING = frozenset({"parse", "optimise", "tactics"})
"""Phases in which a release rejects an operator."""
_ELSEWHERE = frozenset({"model_unreadable", "no_scales", "calibration"})
"""Messages about missing files or build options, not about the model.

They need an exception, because their phases are in ``_OF_MODEL``.
"""
_SHAPES = frozenset({"no_profile", "missing_shape", "profile_inconsistent"})
"""Messages about shapes.  The model contains these shapes."""
_LAYERS = frozenset({"norm_fp16", "norm_overflow", "constraint_ignored", "nonconforming", "no_scale"})
"""Messages about types of layers. The layers of the engine show these types."""
_BUILDS = "buildSerializedNetwork"
_EXPORT = "trtexec --exportLayerInfo=layers.json --profilingVerbosity=detailed"
"""Command that writes the layers of an engine to a file.

https://github.com/NVIDIA/TensorRT/tree/main/samples/trtexec
"""


def further(facts: Facts, findings: Sequence[Finding]) -> tuple[Suggestion, ...]:
    """Return suggestions for files to add to a build that was given without its model.

    Args:
        facts: the facts of the build.
        findings: the findings about the log.
    """
    record = facts.record
    if facts.has_model or record is None or record.log is None:
        return ()
    reported = list(_reported(facts, findings))
    (build,) = (fact for fact in facts.of("build") if isinstance(fact, BuildFact))
    # Standard input cannot be read again, so the user must save the log to a file.
    log = "build.log" if record.log_name == "-" else record.log_name
    return (*_model(reported, log, build), *_layers(reported, log, build))


def _reported(facts: Facts, findings: Iterable[Finding]) -> Iterator[LogMessage]:
    """Yield the log messages that findings report as errors or warnings."""
    grave = (finding for finding in findings if finding.severity != "note")
    places = {site.node for finding in grave for site in finding.sites}
    for message in facts.of("log_message"):
        if isinstance(message, LogMessage) and message.at in places:
            yield message


def _model(messages: Sequence[LogMessage], log: str, build: BuildFact) -> Iterator[Suggestion]:
    about = [message for message in messages if _is_about_the_model(message)]
    settles = []
    if any(message.name in _SHAPES for message in about):
        settles.append("the shapes for --minShapes, --optShapes and --maxShapes")
    names = {name for message in about for name in message.named}
    if names:
        settles.append(f"the {'node' if len(names) == 1 else 'nodes'} that this log names")
    if build.status == "failed" and any(map(_may_be_rejected, about)):
        release = (
            f"{PRODUCTS[build.product or 'tensorrt']} {build.version}" if build.version else "this release"
        )
        settles.append(f"the operators that {release} rejects")
    if settles:
        yield Suggestion("model", f"trtlint model.onnx --log {log}", _listed(settles))


def _is_about_the_model(message: LogMessage) -> bool:
    entry = table().named(message.name)
    if entry is None or entry.tells == "unexplained":
        # A model can explain an error that trtlint does not know, if the builder printed the error.
        return message.stops and _BUILDS in message.message
    # If later messages repeat the error about a missing plugin, an engine could not be loaded. The model
    # does not explain this error.
    return (
        entry.phase in _OF_MODEL
        and message.name not in _ELSEWHERE
        and not (message.name == "plugin_not_found" and message.echoes)
    )


def _may_be_rejected(message: LogMessage) -> bool:
    entry = table().named(message.name)
    return entry is None or entry.tells == "unexplained" or entry.phase in _REJECTING


def _layers(messages: Sequence[LogMessage], log: str, build: BuildFact) -> Iterator[Suggestion]:
    if build.has_layers or build.status == "failed":
        return
    if any(message.name in _LAYERS for message in messages):
        command = f"trtlint --log {log} --layers layers.json"
        yield Suggestion("layers", command, f"the type of each layer ({_EXPORT} writes layers.json)")


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
