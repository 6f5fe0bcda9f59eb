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
    - ``known`` says how trtlint knows which releases refuse the model: ``measured``, ``source`` or
      ``documented``.  It is empty if the rule itself states the source.
    - ``lines`` contains the release lines (such as ``10.7``) that refuse the model.  It is empty if the
      release lines are unknown.
    - ``limit`` is a condition for the refusal, such as ``without the plugin``.
    - ``first_taken`` is the first release line that is newer than the target and accepts the model, or None.
    - ``last_taken`` is the last release line that is older than the target and accepts the model, or None.
    """

    stage: Literal["parse", "build"]
    op: str
    code: str
    known: str = ""
    lines: tuple[str, ...] = ()
    limit: str = ""
    first_taken: str | None = None
    last_taken: str | None = None
