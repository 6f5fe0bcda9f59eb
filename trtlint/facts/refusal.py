"""Plain data about the refusal of a model by TensorRT."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Refusal(Struct, frozen=True):
    """A refusal by the ONNX parser or the builder.

    - ``stage`` is ``parse`` or ``build``.
    - ``op`` is the operator type; empty for an input of the model.
    - ``code`` is the error code of the parser (``UNSUPPORTED_NODE``) or the builder (``API Usage Error``), or
      empty.
    - ``known`` says how the refusing releases are known: ``measured``, ``source`` or ``documented``; empty if
      the rule states this.
    - ``lines`` are the release lines (such as ``10.7``) that refuse the model; empty if unknown.
    - ``limit`` is a condition for the refusal, such as ``without the plugin``.
    - ``first_taken`` is the first release line after the target that accepts the model, or None.
    - ``last_taken`` is the last release line before the target that accepts the model, or None.
    """

    stage: Literal["parse", "build"]
    op: str
    code: str
    known: str = ""
    lines: tuple[str, ...] = ()
    limit: str = ""
    first_taken: str | None = None
    last_taken: str | None = None
