"""Plain data about the refusal of a model by TensorRT."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Refusal(Struct, frozen=True):
    """A refusal of the model by the ONNX parser or the builder.

    - ``stage`` is ``parse`` for a refusal by the parser, and ``build`` for a refusal by the builder.
    - ``op`` is the operator type, or an empty string for an input of the model.
    - ``code`` is the error code of the parser (``UNSUPPORTED_NODE``) or of the builder (``API Usage Error``).
      It is empty if the code is unknown.
    - ``known`` is the source from which trtlint knows the refusing releases: ``measured``, ``source`` or
      ``documented``.  It is empty if the rule states the source.
    - ``lines`` contains the release lines (such as ``10.7``) that refuse the model.  It is empty if they are
      unknown.
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
