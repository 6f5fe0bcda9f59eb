"""Known faults of a release of Torch-TensorRT in functions that a script uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from trtlint.facts.of_torch.torch_argument import origin_at
from trtlint.facts.of_torch.torch_use import RETRACED
from trtlint.facts.torchfact import TorchFact
from trtlint.knowledge import data
from trtlint.model.origin import Origin
from trtlint.torch_tensorrt.script import TorchScript

if TYPE_CHECKING:
    from trtlint.facts.facts import Facts
    from trtlint.torch_tensorrt.marks import ScriptMark
    from trtlint.torch_tensorrt.uses import TorchUse


class TorchFaultFact(TorchFact, frozen=True):
    """A fault of this release in functions that the script uses, which a later release corrects.

    Attributes:
        name: the entry of trtlint/knowledge/torch_faults.yaml.
        words: what happens.
        instead: what to do in this release.
        fixed: the first release line without the fault, ``2.7``; empty if unknown.
        source: the pull request.
        code_origin: the line of the script.
    """

    kind: ClassVar[str] = "torch_fault"

    name: str
    words: str
    instead: str
    fixed: str
    source: str
    code_origin: Origin

    @property
    def place(self) -> str:
        """The file and the line of the call; the name of the fault if the call was given as text."""
        source = self.code_origin.source
        return self.name if source is None else f"{source.path}:{source.line}"


def find(facts: Facts) -> Iterator[TorchFaultFact]:
    """Yield the faults in the order of the table."""
    script = facts.data(TorchScript)
    if script is None:
        return
    for row in data("torch_faults"):
        end = row["fixed"] if "fixed" in row else row["last"] + 1
        affected = row.get("since", 5) <= script.runs.minor < end
        use = _use(row, script) if affected else None
        if use is not None:
            yield TorchFaultFact(
                node=None,
                chain=(),
                release=script.runs.version,
                name=row["name"],
                words=row["words"],
                instead=row["do"],
                fixed=f"2.{row['fixed']}" if "fixed" in row else "",
                source=row["source"],
                code_origin=origin_at(use.source, use.line),
            )


def _use(row: Mapping[str, Any], script: TorchScript) -> TorchUse | ScriptMark | None:
    """Return the call that shows a fault; None if the script does not show it."""
    if "operators" in row:
        marks = (mark for mark in script.marks if mark.kind == "operator") if script.judged else ()
        return next((mark for mark in marks if _is_operator(mark, row["operators"])), None)
    given = row.get("given", ())
    fitting = [use for use in script.uses if all(_is_compiled_with(use, name, script) for name in given)]
    found = [next((use for use in fitting if use.function in names), None) for names in row.get("calls", ())]
    if row.get("save") == "legacy":
        uses = (use for use in fitting if use.dynamic or not row.get("dynamic"))
        found.append(next((use for use in uses if _is_legacy(use, script.runs.minor)), None))
    if not found or any(use is None for use in found):
        return None
    if row.get("threads") and not any(use.threads for use in script.uses):
        return None
    return found[0]


def _is_operator(mark: ScriptMark, operators: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a call is one of the operators, with values of the arguments that show the fault."""
    for operator in operators:
        if mark.name != operator["name"]:
            continue
        found = (
            next((mark.arguments[each] for each in key.split("|") if each in mark.arguments), None) in values
            for key, values in operator["values"].items()
        )
        if all(found):
            return True
    return False


def _is_legacy(use: TorchUse, minor: int) -> bool:
    """Return whether a call certainly saves a compiled module without tracing it again."""
    if use.function != "torch_tensorrt.save" or use.product != "graph" or not use.sure:
        return False
    retraced = minor >= RETRACED if use.retrace is None else use.retrace
    return use.format in ("", "exported_program") and not retraced


def _is_compiled_with(use: TorchUse, name: str, script: TorchScript) -> bool:
    """Return whether an argument is given in the call that compiles the module of a use.

    If this call is unknown, any call of the compiler in the script counts.
    """
    calls = (call for call in script.judged if use.compiled in (0, call.line))
    return any(_is_given(call.argument(name)) for call in calls)


def _is_given(argument: Any) -> bool:
    """Return whether an argument certainly has a value that is not empty."""
    if argument is None:
        return False
    if isinstance(argument.value, (tuple, dict)):
        return bool(argument.value)
    return argument.text[:1] in ("{", "[") and argument.text not in ("{}", "[]")
