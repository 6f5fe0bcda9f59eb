"""The conditions of rule files for evidence that confirms or refutes a finding.

A rule names them in its front matter::

    witness:
      confirm:
        - log: [norm_fp16, norm_overflow]
          anywhere: true
        - log: [parser_error]
          where: not ("Plugin not found" in message)
        - layer: attention
      refute:
        - layers: precision == "f32"
          because: "the norm runs in FP32: {name}"

A rule whose findings predict a refusal has no ``refute``, and needs no ``confirm`` for errors that name
the node: :mod:`trtlint.engine.refusals` decides for all of them.

``log`` are messages by name: one that names a node of the block is a witness, if ``where``, an
expression over the ``log_message`` fact, holds for it or is left out.  With ``anywhere`` a message that
names nothing, in a log where none of these does, is one for every block.  ``layer`` is an expression
over the ``layer`` fact: one layer with a node of the block for which it holds is a witness.  ``layers``
is the same, and must be false of no other layer of the block.  ``build`` is an expression over the
``build`` fact.  ``range`` and ``ranges`` are like ``layer`` and ``layers``, over the ``tensor_range``
fact: what was measured of the block's tensors; of ``ranges`` the widest is shown.  ``because`` is the
sentence that the finding shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from trtlint.engine.frontmatter import FrontMatterError, Item
from trtlint.language.expression import Expression
from trtlint.language.template import Template
from trtlint.lean import dataclass

Kind = Literal["log", "layer", "layers", "build", "range", "ranges"]
FACTS: Mapping[Kind, str] = {
    "log": "log_message",
    "layer": "layer",
    "layers": "layer",
    "build": "build",
    "range": "tensor_range",
    "ranges": "tensor_range",
}


@dataclass(frozen=True, slots=True)
class EvidenceCondition:
    """A condition on one kind of evidence.

    Attributes:
        kind: what is asked.
        messages: names of log messages.
        where: the condition on a layer, the build or the message, None for any message.
        because: the sentence that the finding shows, None for the message or layer itself.
        anywhere: whether a message that names nothing is about every block.
    """

    kind: Kind
    messages: frozenset[str]
    where: Expression | None
    because: Template | None
    anywhere: bool = False


@dataclass(frozen=True, slots=True)
class EvidenceConditions:
    """The conditions under which evidence confirms, and refutes, the findings of a rule."""

    confirm: tuple[EvidenceCondition, ...] = ()
    refute: tuple[EvidenceCondition, ...] = ()


Compile = Callable[[Item, str, str], Expression]
"""Compiles the condition in an item, named in errors, over a kind of fact."""
CompileText = Callable[[Item, str, str], Template]
"""The same of a text with expressions in it."""


def read_conditions(
    item: Item | None,
    condition: Compile,
    text: CompileText,
    messages: Iterable[str] | None,
    *,
    refusal: bool = False,
) -> EvidenceConditions:
    """Read the ``witness`` entry of a rule.

    Args:
        item: the entry, None where the rule has none.
        condition: compiles conditions.
        text: compiles texts.
        messages: the names of log messages, None for any.
        refusal: whether the findings of the rule predict a refusal.

    Raises:
        FrontMatterError: it has another form than documented here.
    """
    if item is None:
        return EvidenceConditions()
    sides = item.mapping("witness", ("confirm", "refute"))
    if refusal and "refute" in sides:
        raise FrontMatterError(
            "findings of this kind predict a refusal: a success of the parser or builder refutes them, "
            "no rule does; leave out 'refute'",
            sides["refute"].line,
        )
    found = {
        side: tuple(_read(entry, condition, text, messages) for entry in entries.items(f"witness {side}"))
        for side, entries in sides.items()
    }
    return EvidenceConditions(found.get("confirm", ()), found.get("refute", ()))


def _read(
    item: Item, condition: Compile, text: CompileText, known: Iterable[str] | None
) -> EvidenceCondition:
    fields = item.mapping("witness", (*FACTS, "where", "anywhere", "because"))
    kinds = [kind for kind in FACTS if kind in fields]
    if len(kinds) != 1:
        raise FrontMatterError(f"a witness is one of {', '.join(map(repr, FACTS))}", item.line)
    kind, because = kinds[0], fields.get("because")
    what = f"witness {kind}"
    messages, where, anywhere = [], fields.get("where"), fields.get("anywhere")
    if anywhere is not None and kind != "log":
        raise FrontMatterError("only a witness of the log has an 'anywhere'", anywhere.line)
    if kind == "log":
        messages = [entry.choice(what, known) for entry in fields[kind].items(what)]
    elif where is not None:
        raise FrontMatterError("only a witness of the log has a 'where'", where.line)
    else:
        where = fields[kind]
    return EvidenceCondition(
        kind=kind,
        messages=frozenset(messages),
        where=None if where is None else condition(where, what, FACTS[kind]),
        because=None if because is None else text(because, "witness because", FACTS[kind]),
        anywhere=anywhere is not None and anywhere.choice("witness anywhere", ("true", "false")) == "true",
    )
