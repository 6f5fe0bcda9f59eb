"""Find calls that save or export a program and fail in the given release of Torch-TensorRT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from trtlint.facts.facts import Facts
from trtlint.facts.torchfact import TorchFact, line_of, origin_at
from trtlint.model.origin import Origin
from trtlint.torch_tensorrt.calls import TorchScript
from trtlint.torch_tensorrt.uses import TorchUse

Problem = Literal[
    "",
    "format",
    "torchscript",
    "module",
    "program",
    "no inputs",
    "specs",
    "tensor",
    "twice",
    "arguments",
    "graph",
    "strict",
    "private",
]
_ALWAYS_REFUSED = (8, 10, 11, 12, 13)
"""Minor numbers of the releases that refuse to save TorchScript in any format.

These releases refuse the call if ``not all(format == f for f in [...])`` is true.  This is always the case:
https://github.com/pytorch/TensorRT/blob/v2.8.0/py/torch_tensorrt/_compile.py#L642 and
https://github.com/pytorch/TensorRT/issues/3775
"""
RETRACED = 10
"""Minor number of the first release with the default ``retrace=True``.

https://github.com/pytorch/TensorRT/blob/v2.10.0/py/torch_tensorrt/_compile.py#L609
"""
_STRICT = 6
"""Minor number of the last release for which ``torch.export`` uses strict mode by default.

Strict mode fails for quantized modules: https://github.com/pytorch/TensorRT/pull/3447
"""
_SPECS = 11
"""Minor number of the first release that accepts ``torch_tensorrt.Input`` as inputs of ``save``.

https://github.com/pytorch/TensorRT/blob/v2.12.1/py/torch_tensorrt/_compile.py#L655
"""


class TorchUseFact(TorchFact, frozen=True):
    """A call of ``torch_tensorrt.save``, ``torch.jit.save`` or ``torch.export.export``.

    Attributes:
        function: the function, such as ``torch_tensorrt.save``.
        minor: the minor number of the release, such as 13.
        product: the kind of the saved object: ``graph`` (a compiled graph module), ``torchscript``,
            ``module`` or ``program``; empty if the script does not show the kind.
        format: the value of ``output_format``; empty if the call omits it, None if it is unknown.
        problem: why the call fails; empty if it does not fail. ``format``: the release does not support the
            format. ``torchscript``, ``module`` or ``program``: the release cannot save an object of this
            kind, or cannot save it in this format. ``no inputs``: ``save`` traces the module again without
            inputs. ``specs``: the call passes ``torch_tensorrt.Input`` in place of tensors. ``tensor``: the
            call passes one tensor in place of a list. ``twice``: the call passes inputs in two arguments.
            ``arguments``: the example arguments are not a tuple. ``graph``: ``torch.jit.save`` gets a graph
            module. ``strict``: the call exports a quantized module in strict mode. ``private``: the call
            exports a quantized module in strict mode, with the private function
            ``torch.export._trace._export``.
        reason: a text about the problem; empty if there is none.
        code_origin: the line of the script.
    """

    function: str
    minor: int
    product: str
    format: str | None
    problem: Problem
    reason: str
    code_origin: Origin

    @property
    def place(self) -> str:
        """The location in reports: the line of the script, or the function if the call was given as text."""
        return line_of(self.code_origin) or self.function


def find(facts: Facts) -> Iterator[TorchUseFact]:
    """Yield a fact for each call, in the order of the script."""
    script = facts.data(TorchScript)
    if script is None:
        return
    for use in script.uses:
        minor = script.runs.minor
        if use.function == "torch.jit.save":
            problem: Problem = "graph" if use.product == "graph" else ""
        elif use.function == "torch.export.export":
            problem = _export_problem(use, minor)
        elif use.function == "torch_tensorrt.save":
            problem = _save_problem(use, minor)
        else:
            continue
        yield TorchUseFact(
            release=script.runs.version,
            function=use.function,
            minor=minor,
            product=use.product,
            format=use.format,
            problem=problem,
            reason=_reason(problem, use, minor),
            code_origin=origin_at(use.source, use.line),
        )


_REASONS: Mapping[Problem, str] = {
    "": "",
    "module": "torch_tensorrt.save needs a compiled graph module or an exported program, but the call passes "
    "a torch.nn.Module",
    "program": "an exported program cannot be saved as TorchScript",
    "no inputs": "torch_tensorrt.save traces the compiled module again and needs example inputs, but the "
    "call passes none",
    "specs": "torch_tensorrt.save needs tensors as inputs, but the call passes torch_tensorrt.Input",
    "tensor": "torch_tensorrt.save needs a list of inputs, but the call passes one tensor",
    "twice": "the call passes both inputs and arg_inputs",
    "graph": "torch.jit.save saves only TorchScript modules, but the call passes a graph module",
    "arguments": "torch.export.export needs a tuple of example arguments",
    "strict": "torch.export.export traces the quantizers of ModelOpt in strict mode",
    "private": "torch.export._trace._export traces the quantizers of ModelOpt in strict mode",
}


def _reason(problem: Problem, use: TorchUse, minor: int) -> str:
    if problem == "format":
        return f"torch_tensorrt.save does not support the format {use.format}"
    if problem == "torchscript":
        otherwise = "" if minor in _ALWAYS_REFUSED else " without output_format='torchscript'"
        return f"torch_tensorrt.save cannot write a TorchScript module{otherwise}"
    return _REASONS[problem]


def _export_problem(use: TorchUse, minor: int) -> Problem:
    if use.inputs in ("tensor", "list"):
        return "arguments"
    if not use.quantized or not use.sure or use.strict is False:
        return ""
    if use.private:
        return "private" if minor == _STRICT else ""
    return "strict" if use.strict or minor <= _STRICT else ""


def _save_problem(use: TorchUse, minor: int) -> Problem:
    """Return the reason why ``torch_tensorrt.save`` refuses a call in a release.

    ``minor`` is the minor number of the release.  The result is an empty string if ``save`` does not refuse
    the call.
    """
    if use.format is None:
        return ""
    if use.arg_inputs == "specs" and minor < _SPECS:
        return "specs"
    if use.inputs in ("tensor", "specs", "items") and use.arg_inputs in ("tensor", "specs", "items"):
        return "twice"
    if use.format not in ("", *_formats(minor)):
        return "format"
    if use.product == "torchscript":
        return "torchscript" if minor in _ALWAYS_REFUSED or use.format != "torchscript" else ""
    if use.product == "module":
        return "module"
    if use.product == "program":
        return "program" if use.format == "torchscript" else ""
    if use.product == "graph" and use.format != "torchscript" and use.sure:
        retraced = minor >= RETRACED if use.retrace is None else use.retrace
        return _retracing_problem(use, minor) if retraced else ""
    return ""


def _formats(minor: int) -> tuple[str, ...]:
    """Return the values of ``output_format`` that release 2.``minor`` supports.

    https://github.com/pytorch/TensorRT/blob/v2.12.1/py/torch_tensorrt/_compile.py#L746
    """
    more = ("aot_inductor",) if minor >= 8 else ()
    return ("exported_program", "torchscript", *more, *(("executorch",) if minor >= 12 else ()))


def _retracing_problem(use: TorchUse, minor: int) -> Problem:
    if use.inputs == use.arg_inputs == "none":
        return "" if use.others else "no inputs"
    if "specs" in (use.inputs, use.arg_inputs) and minor < _SPECS:
        return "specs"
    return "tensor" if "tensor" in (use.inputs, use.arg_inputs) else ""
