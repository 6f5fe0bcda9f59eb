"""Rebuild the models of recorded verdicts with the generators in the wheel of winml-cli.

    PYTHON -m benchmarks.winml_rows WHEEL OUT --rows 3000 --seed 1 [--files REGEX] [--seconds 25]

WHEEL is the folder of the unpacked wheel: https://pypi.org/project/winml-cli/0.4.0/. PYTHON needs the
packages that the generators import: numpy, onnx 1.18, pyarrow and pandas. Nothing is downloaded. The models
and ``index.jsonl`` are written to OUT.

A row contains types, ranks and attributes of an operator, and whether the provider compiled and ran the
model. The command draws rows first. Then the generators run until all drawn rows are built.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import io
import json
import math
import random
import re
import signal
import sys
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

PROVIDER = "NvTensorRTRTXExecutionProvider_GPU"
VERDICT = "compile_run_success"
_RULES = Path("winml/modelkit/analyze/rules/runtime_check_rules") / PROVIDER
_PROCESSOR = Path("winml/modelkit/analyze/runtime_checker/result_processor.py")
_EMPTY_PACKAGES = (
    "winml", "winml.modelkit", "winml.modelkit.analyze", "winml.modelkit.analyze.utils",
    "winml.modelkit.analyze.runtime_checker",
)  # fmt: skip
"""Packages that import torch. Empty packages replace them, because the generators need only submodules."""
_FUNCTIONS = ("_get_input_constraint_types", "_get_all_attr_names", "item_to_row", "_parse_filename")

Row = tuple[str, ...]
"""Encoded values of a row, in the order of its columns."""


class OutOfTimeError(Exception):
    """Error: the generator of one file exceeds its time limit."""


class Wheel:
    """The modules of the wheel.

    Attributes:
        folder: folder of the unpacked wheel.
        functions: functions that turn a generated model into a row.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        sys.path.insert(0, str(folder))
        for name in _EMPTY_PACKAGES:
            package = types.ModuleType(name)
            package.__path__ = [str(folder / name.replace(".", "/"))]
            sys.modules[name] = package
        self._domains = importlib.import_module("winml.modelkit.onnx").ONNXDomain
        importlib.import_module("winml.modelkit.pattern")
        self._generators = importlib.import_module("winml.modelkit.pattern.op_input_gen")
        self._quantized = importlib.import_module("winml.modelkit.pattern.op_input_gen.qdq_gen").QDQGenerator
        self._patterns = importlib.import_module("winml.modelkit.pattern.base")
        self._tools = importlib.import_module("winml.modelkit.analyze.utils.model_utils")
        self._unknown = importlib.import_module("onnx.defs").SchemaError
        self.functions = self._row_functions()

    def _row_functions(self) -> dict[str, Any]:
        """Return the functions alone: their module imports packages that the rows do not need."""
        tree = ast.parse((self.folder / _PROCESSOR).read_text(encoding="utf-8"))
        kept: list[ast.stmt] = [
            each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name in _FUNCTIONS
        ]
        names: dict[str, Any] = {
            "Any": Any,
            "normalize_constraint_dict": self._generators.normalize_constraint_dict,
            "make_hashable": self._tools.make_hashable,
        }
        code = "from __future__ import annotations\n" + ast.unparse(ast.Module(kept, []))
        exec(compile(code, str(_PROCESSOR), "exec"), names)
        return names

    def encode(self, value: object) -> str:
        """Encode a value as the tables do."""
        if isinstance(value, float) and math.isnan(value):
            value = None
        return str(self._tools.encode_rule_condition_value_for_parquet(value))

    def generated(self, stem: str) -> Iterator[tuple[Mapping[str, Any], Any]]:
        """Yield rows of a table with a function that builds the model of each."""
        domain_name, operator, _, _, opset, quantized = self.functions["_parse_filename"](stem)
        domain = self._domains.from_str(domain_name)
        quantizer = self._quantized(1, self._domains.COM_MICROSOFT) if quantized else None
        try:
            schema = domain.get_op_schema(operator, opset)
            chosen = self._generators.get_runtime_checker_op(operator, domain=domain)
            generator = chosen(schema, qdq_generator=quantizer, dynamic_axis_mode="first_axis_dynamic")
        except self._unknown:
            versions = {domain: opset, self._domains.COM_MICROSOFT: 1}
            generator = self._patterns.get_pattern_input_generator(operator)(versions)
            generator.dynamic_axis_mode = "first_axis_dynamic"
        build = generator._create_model
        generator._create_model = lambda *given, **named: (given, named)
        items = []
        with contextlib.redirect_stdout(io.StringIO()):
            for inputs, tags in generator.iter():
                for model, facts in generator.iter_const_and_dynamic_models(inputs, tags):
                    facts.pop("_validation_input_constraints", None)
                    items.append((model, facts))
        facts_alone = [facts for _, facts in items]
        constraints = self.functions["_get_input_constraint_types"](facts_alone)
        attributes = self.functions["_get_all_attr_names"](facts_alone)
        for model, facts in items:
            row = self.functions["item_to_row"](
                facts, constraints, attributes, generator.replace_float_with_dummy_in_query, use_qdq=quantized
            )
            # Some generators derive no properties; their rows are complete without them.
            with contextlib.suppress(NotImplementedError):
                row = generator.derive_properties(row)
            yield row, partial(_built, build, model)


def _built(build: Callable[..., Any], model: Any) -> Any:
    """Return the model of a generator, which returns a description or a finished model."""
    return build(*model[0], **model[1]) if isinstance(model, tuple) else model


def drawn(files: Sequence[Path], sizes: Sequence[int], rows: int, seed: int) -> Mapping[Path, list[int]]:
    """Draw rows of all tables with equal probability."""
    numbers = sorted(random.Random(seed).sample(range(sum(sizes)), rows))
    found: dict[Path, list[int]] = defaultdict(list)
    first = at = 0
    for file, size in zip(files, sizes, strict=True):
        while at < len(numbers) and numbers[at] < first + size:
            found[file].append(numbers[at] - first)
            at += 1
        first += size
    return found


def rebuilt(wheel: Wheel, file: Path, numbers: Sequence[int], out: Path) -> Iterator[dict[str, Any]]:
    """Write the models of the drawn rows of one table, and yield an entry for each."""
    save = importlib.import_module("onnx").save
    table = importlib.import_module("pyarrow.parquet").read_table(file)
    columns = [name for name in table.column_names if name != VERDICT]
    wanted: dict[Row, tuple[int, Sequence[bool]]] = {}
    for number, row in zip(numbers, table.take(list(numbers)).to_pylist(), strict=True):
        wanted.setdefault(tuple(row[name] for name in columns), (number, row[VERDICT]))
    operator = file.stem.split("_", 1)[0]
    for facts, build in wheel.generated(file.stem):
        hit = wanted.pop(tuple(wheel.encode(facts.get(name)) for name in columns), None)
        if hit is None:
            continue
        name = f"{file.stem}__{hit[0]}.onnx"
        save(build(), out / name)
        yield {"file": name, "op": operator, "compiled": hit[1][0], "ran": hit[1][1]}
        if not wanted:
            return


def _alarm(*_: object) -> None:
    raise OutOfTimeError


def main() -> None:
    """Draw rows and rebuild their models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", default="", help="regular expression of the names of tables")
    parser.add_argument("--seconds", type=int, default=25, help="limit of one table")
    arguments = parser.parse_args()
    arguments.out.mkdir(exist_ok=True, parents=True)
    wheel = Wheel(arguments.wheel.resolve())
    files = sorted((arguments.wheel / _RULES).glob("*.parquet"))
    metadata = importlib.import_module("pyarrow.parquet").read_metadata
    picked = drawn(files, [metadata(file).num_rows for file in files], arguments.rows, arguments.seed)
    signal.signal(signal.SIGALRM, _alarm)
    count: Counter[str] = Counter()
    with (arguments.out / "index.jsonl").open("a", encoding="utf-8") as index:
        for file, numbers in picked.items():
            if not re.search(arguments.files, file.stem):
                continue
            signal.alarm(arguments.seconds)
            found = 0
            try:
                for entry in rebuilt(wheel, file, numbers, arguments.out):
                    index.write(json.dumps(entry) + "\n")
                    found += 1
            except OutOfTimeError:
                print(f"{file.stem}: {found} of {len(numbers)} rows in {arguments.seconds} s")
            except Exception as error:  # noqa: BLE001 - some tables have rows that their generator cannot build
                print(f"{file.stem}: {found} of {len(numbers)} rows: {error!r:.150}")
            finally:
                signal.alarm(0)
            count["rebuilt"] += found
            count["drawn"] += len(numbers)
    print(f"{count['rebuilt']} of {count['drawn']} drawn rows rebuilt")


if __name__ == "__main__":
    main()
