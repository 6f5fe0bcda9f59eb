"""A test folder with models, rules and configuration."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import onnx
import pytest

from trtlint.cli import run

RULE = """---
id: {id}
name: {name}
severity: {severity}
since: 0.1.0
evidence: documented
find: node
where: op == "{op}"
mark: [node]
message: "a {{op}} is here"
advice:
  - do: "Take the {{op}} out."
references:
  - https://example.org/{id}
---
## What it does

Finds a {op}.
"""


@dataclass
class Workspace:
    """The current folder, and the result of the last run.

    ``models/a.onnx`` has two ``Relu`` in ``blocks.0`` and ``blocks.1`` (XYZ901, error) and a ``Sin`` in
    ``head`` (XYZ902, warning).  ``models/b.onnx`` has an ``Abs``.
    """

    path: Path
    capsys: pytest.CaptureFixture[str]
    code: int = 0
    out: str = ""

    def toml(self, name: str, text: str) -> Path:
        """Write a configuration file."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
        return file

    def rule(self, folder: str, id_: str, name: str, *, op: str, severity: str = "error") -> None:
        """Write a rule that flags an operator."""
        file = self.path / folder / f"{id_}-{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(RULE.format(id=id_, name=name, op=op, severity=severity), encoding="utf-8")

    def save(self, name: str, ops: list[tuple[str, str]]) -> Path:
        """Write a model with a chain of operators, each with its module."""
        nodes = []
        for number, (op, module) in enumerate(ops):
            node = onnx.helper.make_node(op, [f"v{number}"], [f"v{number + 1}"], name=f"/{module}/{op}")
            node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=repr(["", module, op.lower()]))
            nodes.append(node)
        ends = [
            onnx.helper.make_tensor_value_info(f"v{number}", onnx.TensorProto.FLOAT, [4])
            for number in (0, len(ops))
        ]
        graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:])
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        opset = onnx.helper.make_opsetid("", 17)
        onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), file)
        return file

    def copy(self, name: str, other: str) -> None:
        """Copy a model."""
        (self.path / other).parent.mkdir(parents=True, exist_ok=True)
        (self.path / other).write_bytes((self.path / name).read_bytes())

    def run(self, *args: str) -> int:
        """Run trtlint. Standard error stays with ``capsys``."""
        self.code = run(args)
        if self.code in (0, 1):
            self.out = self.capsys.readouterr().out
        return self.code

    def report(self, *args: str) -> dict[str, Any]:
        """Return the JSON report."""
        self.run(*args, "--format", "json")
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded

    def model(self, *args: str) -> dict[str, Any]:
        """Return the report of the only model."""
        (model,) = self.report(*args)["models"]
        assert isinstance(model, dict)
        return model

    def ids(self, *args: str) -> list[str]:
        """Return the rules of all findings by target."""
        return [finding["rule"] for model in self.report(*args)["models"] for finding in model["findings"]]

    def settings(self, *args: str) -> str:
        """Return the output of ``--show-settings``."""
        assert self.run(*args, "--show-settings") == 0
        return self.out
