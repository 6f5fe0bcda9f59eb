"""Convert models from Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from trtlint.arguments import read_local, read_one
from trtlint.cases import one_case
from trtlint.errors import ArgumentError, SettingError
from trtlint.files.problem import named
from trtlint.files.replace import in_folder
from trtlint.inputfiles import input_files
from trtlint.keywords import AnyPath, Keywords, read_own
from trtlint.model.memory import NAME
from trtlint.target.target import Target, first_sm

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from trtlint.conversion.result import Conversion


def convert(
    model: AnyPath | Any,
    target: Target | Sequence[Target] | None = None,
    *,
    to: Literal["fp16", "bf16"] | None = None,
    out: AnyPath | None = None,
    inputs: AnyPath | Mapping[str, Any] | Iterable[AnyPath | Mapping[str, Any]] | None = None,
    load_inputs: AnyPath | Sequence[AnyPath] = (),
    keep: str | Sequence[str] = (),
    io: Literal["fp32", "fp16", "bf16"] = "fp32",
    tolerance: float = 1e-2,
    measure: bool = True,
    verify_build: bool = False,
    dry_run: bool = False,
    seconds: float | None = None,
    memory: int | None = None,
    **keywords: Unpack[Keywords],
) -> Conversion:
    """Convert an FP32 model to a strongly typed model: ``trtlint.convert("model.onnx", to="fp16")``.

    Args:
        model: a path, or an ``onnx.ModelProto``. For an ``onnx.ModelProto``, ``out`` is required.
        target: the build target.  The result contains a build command for this target.
        to: the new type; required.
        out: the file or folder to write to; by default ``MODEL.fp16.onnx`` or ``MODEL.bf16.onnx`` beside the
            model.
        inputs: batches for the measurement, as in :func:`trtlint.measure`; by default generated inputs.
        load_inputs: inputs that Polygraphy saved.
        keep: operators that stay in FP32: names, operator types, or names with ``*``.
        io: the type of the inputs and outputs of the model.
        tolerance: the largest accepted error of an output, relative to the largest magnitude of this output.
        measure: True to measure ranges and errors by running the model with ONNX Runtime.
        verify_build: True to build the original and the converted model with TensorRT-RTX.
        dry_run: True to write no file.
        seconds: the time limit of each run of the model.
        memory: the memory limit in bytes.
        **keywords: as in :func:`trtlint.lint`. ``command`` may set types of layers, and may also be a
            Polygraphy command.

    Returns:
        The result of the conversion. If a check failed, the ``verdict`` of the result is ``failed`` and no
        file is written.

    Raises:
        ModelError, OSError: the model cannot be read, or the result cannot be written.
        ExperimentError: the model cannot be converted, or ONNX Runtime is not installed.
        ArgumentError, SettingError: an argument has a wrong type, or a value that cannot be used.
    """
    import onnx

    from trtlint.conversion.buildline import build_line, unbuildable
    from trtlint.conversion.layertypes import of_command, of_polygraphy
    from trtlint.conversion.run import run
    from trtlint.conversion.session import ConversionRequest
    from trtlint.measurement.inputs import Inputs

    own = read_own(
        {
            "out": out,
            "inputs": inputs,
            "load_inputs": load_inputs,
            "keep": keep,
            "io": io,
            "tolerance": tolerance,
            "measure": measure,
            "verify_build": verify_build,
            "dry_run": dry_run,
            "seconds": seconds,
            "memory": memory,
        },
        keywords,
    )
    to = read_one("to", to)
    io = own.get("io", "fp32")
    if io not in ("fp32", to):
        raise SettingError(f"io={io!r}: use 'fp32' or {to!r}")
    is_dry = own.get("dry_run", False)
    with (
        tempfile.TemporaryDirectory(prefix="trtlint-") as folder,
        input_files(own.get("inputs", ())) as files,
    ):
        if isinstance(model, str | os.PathLike | bytes):
            path = read_local("model", model)
        elif not isinstance(model, onnx.ModelProto):
            raise ArgumentError.of("model", model, "a path or an onnx.ModelProto")
        elif "out" not in own and not is_dry:
            raise SettingError("out: name the output file, because a model in memory has no file name")
        else:
            path = Path(folder, "model.onnx")
            onnx.save(model, path)
        usual = path.with_name(f"{path.stem}.{to}{path.suffix}")
        written = in_folder(Path(own["out"]), usual.name) if "out" in own else usual
        command = keywords.get("command")
        polygraphy = None if command is None else of_polygraphy(read_one("command", command))
        build = keywords if polygraphy is None else {**keywords, "command": None}
        case = one_case(path, target, build).case
        if reason := unbuildable(to, case.built_for):
            raise SettingError(reason)
        request = ConversionRequest(
            model=path,
            type=to,
            io=io,
            inputs=Inputs(files.names, own.get("load_inputs", ())),
            keep=own.get("keep", ()),
            tolerance=own.get("tolerance", 1e-2),
            measure=own.get("measure", True),
            build=own.get("verify_build", False),
            seconds=own.get("seconds"),
            memory=own.get("memory"),
            layers=polygraphy or (None if case.command is None else of_command(case.command)),
        )
        sm = first_sm(case.built_for)
        with named(NAME if isinstance(model, onnx.ModelProto) else path):
            found, _ = run(
                request,
                None if is_dry else written,
                command=build_line(case.built_for, case.command),
                sm=sm,
                protected=[path],
            )
        return replace(found, path=NAME) if isinstance(model, onnx.ModelProto) else found
