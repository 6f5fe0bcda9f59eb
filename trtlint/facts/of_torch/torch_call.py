"""Find calls that compile with Torch-TensorRT, and settings in a call that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TypeVar

from trtlint.facts.facts import Facts
from trtlint.facts.of_torch.torch_argument import TorchArgumentFact
from trtlint.facts.torchfact import TorchFact, line_of, origin_at
from trtlint.knowledge.torchreleases import TorchRelease, argument
from trtlint.model.origin import Origin
from trtlint.torch_tensorrt.calls import TorchCall, TorchScript, known_value
from trtlint.torch_tensorrt.options import DTYPES
from trtlint.torch_tensorrt.values import UNKNOWN, QualifiedName

_DROPPED = frozenset({"gone", "future", "unknown", "idle"})
_LONGEST = 400

_Value = TypeVar("_Value")


class TorchCallFact(TorchFact, frozen=True):
    """A call that compiles a model with Torch-TensorRT.

    If the call omits a setting, the field has the default of the release. If the script computes a setting,
    the field is None.

    Attributes:
        call: the name of the called function, as written in the script.
        release: the release of Torch-TensorRT, such as ``2.13.0``.
        minor: the minor number of the release, such as 13.
        route: the kind of call: ``compile`` for ``torch_tensorrt.compile``, ``options`` for the options of
            ``torch.compile`` and for ``ir="torch_compile"``, ``windows`` for the cross compilation for
            Windows, ``engine`` for the conversion of a program to a serialized engine, ``convert`` for the
            same conversion of a module, and ``mutable`` for ``MutableTorchTensorRTModule``.
        given: the names of the arguments that the call passes.
        precisions: the types in ``enabled_precisions``, such as ``float16``; empty if the call omits this
            argument.
        bare_precision: the value of ``enabled_precisions`` if it is one type instead of a set of types; empty
            for any other value.
        explicit_typing: whether networks are strongly typed; always True for releases that do not support
            weakly typed networks.
        autocast: the setting ``enable_autocast``.
        immutable_weights: True if the user cannot refit the engine with new weights.
        refit_identical: the setting ``refit_identical_engine_weights``.
        strip_weights: the setting ``strip_engine_weights``.
        refit: the former name of ``immutable_weights`` that the call uses, ``refit`` or ``make_refittable``;
            empty if the call uses neither.
        weight_streaming: the setting ``enable_weight_streaming``.
        full_compilation: the setting ``require_full_compilation``.
        torch_operators: whether ``torch_executed_ops`` names at least one operator.
        truncated_twice: True if the call sets ``truncate_double`` to True, and also passes the former name of
            this argument, ``truncate_long_and_double``.
        data_dependent_fallback: the setting ``fallback_data_dependent_ops``.
        unexported: True if the call passes a module, but the function requires an exported program.
        inputs_twice: whether the call passes both ``inputs`` and ``arg_inputs``.
        dryrun: the setting ``dryrun``.
        optimization_level: the value of ``optimization_level``; None if unknown, or if the call omits it.
        corrected: the text of the call without the arguments that have no effect in this release.
        code_origin: the script line that contains the call.
    """

    call: str
    minor: int
    route: str
    given: tuple[str, ...]
    precisions: tuple[str, ...] | None
    bare_precision: str
    explicit_typing: bool | None
    autocast: bool | None
    immutable_weights: bool | None
    refit_identical: bool | None
    strip_weights: bool | None
    refit: str
    weight_streaming: bool | None
    full_compilation: bool | None
    torch_operators: bool | None
    truncated_twice: bool | None
    data_dependent_fallback: bool | None
    unexported: bool
    inputs_twice: bool | None
    dryrun: bool | None
    optimization_level: int | None
    corrected: str
    code_origin: Origin

    @property
    def place(self) -> str:
        """The location in reports: the line of the script, or the function if the call was given as text."""
        return line_of(self.code_origin) or self.call


def find(facts: Facts) -> Iterator[TorchCallFact]:
    """Yield a fact for each call, in the order of the script."""
    script = facts.data(TorchScript)
    if script is None:
        return
    states = [fact for fact in facts.of("torch_argument") if isinstance(fact, TorchArgumentFact)]
    for call in script.judged:
        own, states = states[: len(call.arguments)], states[len(call.arguments) :]
        yield _fact(call, script.runs, own)


def _fact(call: TorchCall, release: TorchRelease, states: list[TorchArgumentFact]) -> TorchCallFact:
    switch = partial(_switch, call, release)
    refit = next((name for name in ("refit", "make_refittable") if call.argument(name)), "")
    level = call.argument("optimization_level")
    operators = call.argument("torch_executed_ops")
    return TorchCallFact(
        call=call.callee,
        release=release.version,
        minor=release.minor,
        route=call.route,
        given=tuple(each.name for each in call.arguments),
        precisions=_precisions(call),
        bare_precision=_bare_precision(call),
        explicit_typing=True if release.minor >= 13 else switch("use_explicit_typing"),
        autocast=switch("enable_autocast"),
        immutable_weights=switch("immutable_weights"),
        refit_identical=switch("refit_identical_engine_weights"),
        strip_weights=switch("strip_engine_weights"),
        refit=refit,
        weight_streaming=switch("enable_weight_streaming"),
        full_compilation=switch("require_full_compilation"),
        torch_operators=_filled(known_value(operators, None if not call.complete else ())),
        truncated_twice=_truncated_twice(call),
        data_dependent_fallback=switch("fallback_data_dependent_ops"),
        unexported=call.unexported,
        inputs_twice=_twice(call),
        dryrun=switch("dryrun"),
        optimization_level=_typed(known_value(level, None), int),
        corrected=_corrected(call, states),
        code_origin=origin_at(call.source, call.line),
    )


def _switch(call: TorchCall, release: TorchRelease, name: str) -> bool | None:
    """Return whether the setting ``name`` of a call is on, or None if this is unknown.

    If the call omits the setting, the result is the default of the release.
    """
    known = argument(name, call.route, release)
    if not known.read:
        return False
    given = call.argument(name)
    if given is None and not call.complete:
        return None
    default = {"True": True, "False": False}.get(known.default)
    return _typed(known_value(given, default), bool)


def _precisions(call: TorchCall) -> tuple[str, ...] | None:
    given = call.argument("enabled_precisions")
    if given is None:
        return () if call.complete else None
    if given.value is None:
        return ()
    if not isinstance(given.value, tuple):
        return None
    names = [_dtype(value) for value in given.value]
    return None if "" in names else tuple(dict.fromkeys(names))


def _bare_precision(call: TorchCall) -> str:
    given = call.argument("enabled_precisions")
    return "" if given is None else _dtype(given.value)


def _dtype(value: object) -> str:
    if not isinstance(value, QualifiedName):
        return ""
    return DTYPES.get(value.name.rpartition(".")[2], "")


def _typed(value: object, type_: type[_Value]) -> _Value | None:
    return value if isinstance(value, type_) else None


def _filled(value: object) -> bool | None:
    return bool(value) if isinstance(value, tuple) else None


def _truncated_twice(call: TorchCall) -> bool | None:
    """Return whether a call passes both ``truncate_double=True`` and the former name of this argument.

    The result is None if the value is unknown.
    """
    if call.route != "compile" or call.argument("truncate_long_and_double") is None:
        return False
    given = known_value(call.argument("truncate_double"), False)
    return given if isinstance(given, bool) else None


def _twice(call: TorchCall) -> bool | None:
    both = [call.argument(name) for name in ("inputs", "arg_inputs")]
    if any(each is not None and each.value is None for each in both):
        return False
    if all(each is not None for each in both):
        return None if any(each is None or each.value is UNKNOWN for each in both) else True
    return False if call.complete else None


def _corrected(call: TorchCall, states: list[TorchArgumentFact]) -> str:
    """Return the text of a call without the arguments that have no effect.

    The result is an empty string if some arguments are unknown.
    """
    if not call.complete or any("..." in each.text for each in call.arguments):
        return ""
    kept = [
        (each.name, each.text)
        for each, fact in zip(call.arguments, states, strict=True)
        if fact.state not in _DROPPED and each.name not in ("enabled_precisions", "use_explicit_typing")
    ]
    first = [text for name, text in kept[:1] if name in ("module", "exported_program")]
    rest = [f"{name}={text}" for name, text in kept[len(first) :]]
    if call.function == "torch.compile":
        options = ", ".join(f"{name!r}: {text}" for name, text in kept)
        return f"{call.callee}(..., backend='torch_tensorrt', options={{{options}}})"[:_LONGEST]
    text = f"{call.callee}({', '.join([*first, *rest])})"
    return text if len(text) <= _LONGEST else ""
