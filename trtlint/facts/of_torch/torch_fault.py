"""Find the functions in a script that are affected by known faults of a Torch-TensorRT release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trtlint.facts.facts import Facts
from trtlint.facts.of_torch.torch_use import RETRACED
from trtlint.facts.torchfact import TorchFact, line_of, origin_at
from trtlint.knowledge import data
from trtlint.model.origin import Origin
from trtlint.torch_tensorrt.calls import TorchScript
from trtlint.torch_tensorrt.marks import ScriptMark
from trtlint.torch_tensorrt.uses import TorchUse


class TorchFaultFact(TorchFact, frozen=True):
    """A known fault in a function of Torch-TensorRT that the script uses.  A later release corrects it.

    Attributes:
        name: the name of the fault in trtlint/knowledge/torch_faults.yaml.
        words: the effect of the fault, as a text.
        instead: what the user can do in this release.
        fixed: the first release line without the fault, such as ``2.7``; empty if unknown.
        source: URL of the pull request.
        code_origin: the script line that contains the call.
    """

    name: str
    words: str
    instead: str
    fixed: str
    source: str
    code_origin: Origin

    @property
    def place(self) -> str:
        """The location in reports: the line of the call.

        If the call was given as text, the location is the name of the fault.
        """
        return line_of(self.code_origin) or self.name


def find(facts: Facts) -> Iterator[TorchFaultFact]:
    """Yield the faults that affect the script, in the order of trtlint/knowledge/torch_faults.yaml."""
    script = facts.data(TorchScript)
    if script is None:
        return
    for row in data("torch_faults"):
        end = row["fixed"] if "fixed" in row else row["last"] + 1
        affected = row.get("since", 5) <= script.runs.minor < end
        use = _use(row, script) if affected else None
        if use is not None:
            yield TorchFaultFact(
                release=script.runs.version,
                name=row["name"],
                words=row["words"],
                instead=row["do"],
                fixed=f"2.{row['fixed']}" if "fixed" in row else "",
                source=row["source"],
                code_origin=origin_at(use.source, use.line),
            )


def _use(row: Mapping[str, Any], script: TorchScript) -> TorchUse | ScriptMark | None:
    """Return a call in the script that a fault affects, or None if there is none.

    ``row`` is the entry of the fault in the table of faults.
    """
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
    """Return whether ``mark`` is a call of an operator that a fault affects.

    ``operators`` contains the name of each affected operator, with the affected values of its arguments.
    """
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
    """Return whether a call certainly saves a compiled graph module without exporting it again.

    ``minor`` is the minor number of the release.  The default of ``retrace`` depends on this number.
    """
    if use.function != "torch_tensorrt.save" or use.product != "graph" or not use.sure:
        return False
    retraced = minor >= RETRACED if use.retrace is None else use.retrace
    return use.format in ("", "exported_program") and not retraced


def _is_compiled_with(use: TorchUse, name: str, script: TorchScript) -> bool:
    """Return whether the module that a call uses was compiled with the argument ``name``.

    If the script does not show which call compiled the module, the result is True if at least one call that
    compiles a module has this argument.
    """
    calls = (call for call in script.judged if use.compiled in (0, call.line))
    return any(_is_given(call.argument(name)) for call in calls)


def _is_given(argument: Any) -> bool:
    """Return whether the script shows that an argument is passed and not empty."""
    if argument is None:
        return False
    if isinstance(argument.value, (tuple, dict)):
        return bool(argument.value)
    return argument.text[:1] in ("{", "[") and argument.text not in ("{}", "[]")
