"""Read the conditions in rule files under which evidence confirms or refutes a finding.

A rule has these conditions in its front matter::

  verdict:
    confirm:
      - log: [norm_fp16, norm_overflow]
        anywhere: true
      - log: [parser_error]
        where: not ("Plugin not found" in message)
      - layer: attention
    refute:
      - layers: precision == "f32"
        because: "the norm runs in FP32: {name}"

The block of a finding is the group of operators that the finding is about. The keys of a condition are:

- ``log`` lists names of log messages. A message matches if it names a node of the block.
- ``where`` is an expression over the ``log_message`` fact. A message matches only if this expression is true.
- ``anywhere: true`` also accepts messages that name no node. Such a message matches every block. If the log
  has a listed message that names a node, ``anywhere`` has no effect.
- ``layer`` is an expression over the ``layer`` fact. The expression must be true for at least one engine
  layer of the block.
- ``layers`` is like ``layer``, but the condition fails if the expression is false for any layer of the block.
- ``build`` is an expression over the ``build`` fact.
- ``range`` and ``ranges`` are like ``layer`` and ``layers``, for the ``tensor_range`` fact. The facts are the
  measured ranges of the tensors of the block. For ``ranges``, the report shows the widest range.
- ``because`` is the sentence that the report adds.

A finding can predict a refusal, which is an error of the parser or builder.  A rule with such findings has no
``refute``. The rule needs no ``confirm`` for errors that name the node, because
:mod:`trtlint.engine.refusals` handles these errors for all rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from msgspec import Struct

from trtlint.engine.finding import Standing
from trtlint.engine.frontmatter import FrontMatterError, Item
from trtlint.language.expression import Expression
from trtlint.language.template import Template

Kind = Literal["log", "layer", "layers", "build", "range", "ranges"]
FACTS: Mapping[Kind, str] = {
    "log": "log_message",
    "layer": "layer",
    "layers": "layer",
    "build": "build",
    "range": "tensor_range",
    "ranges": "tensor_range",
}


class EvidenceCondition(Struct, frozen=True):
    """A condition on one kind of evidence.

    Attributes:
        kind: the kind of evidence.
        messages: names of log messages.
        where: the condition on a layer, the build or the message; None if every message in ``messages``
            matches.
        because: the sentence that the report adds; None to quote only the message or layer.
        anywhere: True to also accept messages that name no node. Such a message matches every group of
            operators.
    """

    kind: Kind
    messages: frozenset[str]
    where: Expression | None
    because: Template | None
    anywhere: bool = False


class EvidenceConditions(Struct, frozen=True):
    """The conditions under which evidence confirms or refutes the findings of a rule."""

    confirm: tuple[EvidenceCondition, ...] = ()
    refute: tuple[EvidenceCondition, ...] = ()

    @property
    def sides(self) -> tuple[tuple[Standing, tuple[EvidenceCondition, ...]], ...]:
        """The conditions that make a finding ``confirmed``, and the conditions that make it ``refuted``."""
        return ("confirmed", self.confirm), ("refuted", self.refute)


Compile = Callable[[Item, str, str], Expression]
"""Function that compiles a condition.

It has three arguments: the item of the front matter with the condition, the name of the item in error
messages, and the kind of facts for the condition.
"""
CompileText = Callable[[Item, str, str], Template]
"""Function that compiles a text with placeholders such as ``{name}``.

Its arguments are like the arguments of :data:`Compile`.
"""


def read_conditions(
    item: Item | None,
    condition: Compile,
    text: CompileText,
    messages: Iterable[str] | None,
    *,
    refusal: bool,
) -> EvidenceConditions:
    """Read the ``verdict`` entry of a rule file.

    Args:
        item: the entry; None if the rule has none.
        condition: function that compiles a condition.
        text: function that compiles a text with placeholders such as ``{name}``.
        messages: the known names of log messages; None to accept any name.
        refusal: True if the findings of the rule predict an error of the parser or builder.

    Raises:
        FrontMatterError: the entry does not have the form that the documentation of this module describes.
    """
    if item is None:
        return EvidenceConditions()
    sides = item.mapping("verdict", ("confirm", "refute"))
    if refusal and "refute" in sides:
        raise FrontMatterError(
            "remove 'refute': findings of this rule predict a rejection, and trtlint itself refutes "
            "them when the parser or builder succeeds",
            sides["refute"].line,
        )
    found = {
        side: tuple(_read(entry, condition, text, messages) for entry in entries.items(f"verdict {side}"))
        for side, entries in sides.items()
    }
    return EvidenceConditions(found.get("confirm", ()), found.get("refute", ()))


def _read(
    item: Item, condition: Compile, text: CompileText, known: Iterable[str] | None
) -> EvidenceCondition:
    fields = item.mapping("verdict", (*FACTS, "where", "anywhere", "because"))
    kinds = [kind for kind in FACTS if kind in fields]
    if len(kinds) != 1:
        raise FrontMatterError(
            f"an entry of verdict must have exactly one of the keys {', '.join(map(repr, FACTS))}", item.line
        )
    kind, because = kinds[0], fields.get("because")
    what = f"verdict {kind}"
    messages, where, anywhere = [], fields.get("where"), fields.get("anywhere")
    if anywhere is not None and kind != "log":
        raise FrontMatterError(
            "'anywhere' is only allowed in an entry of 'verdict' that has the key 'log'", anywhere.line
        )
    if kind == "log":
        names = fields[kind].items(what)
        messages = [entry.word(what) if known is None else entry.choice(what, known) for entry in names]
    elif where is not None:
        raise FrontMatterError(
            "'where' is only allowed in an entry of 'verdict' that has the key 'log'", where.line
        )
    else:
        where = fields[kind]
    return EvidenceCondition(
        kind=kind,
        messages=frozenset(messages),
        where=None if where is None else condition(where, what, FACTS[kind]),
        because=None if because is None else text(because, "verdict because", FACTS[kind]),
        anywhere=anywhere is not None and anywhere.is_true("verdict anywhere"),
    )
