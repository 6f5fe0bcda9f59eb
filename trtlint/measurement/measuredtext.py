"""Parse the short form of measurements in the examples of rule files.

In a rule file, a block ``ranges`` follows the block of a model. A line about a tensor has these words:
- the name of the tensor, its smallest number and its largest number
- optionally the name and magnitude of an internal number of the operator, such as ``square=97344``
- ``origin`` if the overflow begins at this tensor

The remaining lines are about the whole measurement:
- ``harm``: the errors of the outputs are too large
- ``harmless``: the errors of the outputs are small
- ``bf16``: the low-precision type
- ``made up``: the inputs were generated

Example::

    x  -312 312
    square  0 97344 origin
    harm
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from trtlint.errors import FileError
from trtlint.measurement.formats import FORMATS, Format
from trtlint.measurement.measurement import InternalValue, MeasuredOutput, MeasuredTensor, Measurement
from trtlint.model.load import Model

_BOUND = 0.01
_LIMITS = 2
_WORDS = frozenset({"harm", "harmless", "bf16", "made up"})


class MeasuredTextError(FileError):
    """Error: a text is not a measurement.  The message is the reason."""


def measurement_of_text(text: str, model: Model) -> Measurement:
    """Parse the short form of a measurement of ``model``.

    Raises:
        MeasuredTextError: the text is not a measurement.
    """
    lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    said = _WORDS.intersection(lines)
    format_ = FORMATS["bf16" if "bf16" in said else "fp16"]
    rehearsed = bool(said & {"harm", "harmless"})
    error = None if "harm" in said or not rehearsed else 0.0
    files = () if "made up" in said else ("batch.npz",)
    return Measurement(
        path=str(model.path),
        digest="",
        files=files,
        inputs="",
        batches=1,
        type=format_.name,
        typed=False,
        rehearsed=rehearsed,
        bound=_BOUND,
        sites=tuple(_site(line.split(), model, format_) for line in lines if line not in said),
        outputs=tuple(MeasuredOutput(value.name, error) for value in model.graph.outputs),
        first=(),
        kept=None,
        limits=(),
    )


def _site(words: list[str], model: Model, format_: Format) -> MeasuredTensor:
    name, numbers, rest = words[0], words[1 : 1 + _LIMITS], words[1 + _LIMITS :]
    value = next(iter(model.graph.values.get(name, ())), None)
    if value is None:
        raise MeasuredTextError(f"the model has no tensor {name!r}")
    try:
        low, high = map(float, numbers)
        parts = (word.partition("=") for word in rest)
        inside = tuple(InternalValue(what, float(amount)) for what, _, amount in parts if amount)
    except ValueError:
        raise MeasuredTextError(f"{' '.join(words)!r}: write the name of a tensor and two numbers") from None
    node = value.producer
    site = MeasuredTensor(
        node="" if node is None else node.path,
        op=("Input" if value.is_input else "Constant") if node is None else node.op,
        tensor=name,
        max_abs=max(abs(low), abs(high)) if math.isfinite(low) and math.isfinite(high) else None,
        low=low,
        high=high,
        fits="ok",
        origin="origin" in rest,
        narrow=True,
        inside=inside,
    )
    return replace(site, fits=format_.fits(site.greatest))
