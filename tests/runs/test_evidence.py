"""Evidence that the options of a command and the configuration request."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.dry_build.errors import WheelError
from trtlint.dry_build.shapes import ShapeRange
from trtlint.errors import SettingError
from trtlint.files.problem import Problem
from trtlint.network.compare import CompareRequest
from trtlint.partition.result import ProviderSettings
from trtlint.policy.options import DryOptions, LintOptions, TargetOptions
from trtlint.process.spawn import Limits
from trtlint.runs.dryjob import DryJob
from trtlint.runs.evidence import DryBuildReader, ModelEvidence, PartitionReader
from trtlint.runs.partitionjob import PartitionJob

PARSE = DryOptions("parse", "")


@pytest.fixture(autouse=True)
def wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The installed release is 1.7.1, and each folder has the requested release."""
    monkeypatch.setattr(
        "trtlint.dry_build.wheels.find", lambda version, folder: SimpleNamespace(version=version or "1.7.1")
    )


NOTHING = ModelEvidence()


def read(
    options: DryOptions, *choices: DryOptions, before: ModelEvidence = NOTHING, models: Any = ("a.onnx",)
) -> ModelEvidence:
    """Return the request for the first of some models."""
    settings: Any = SimpleNamespace(
        file=Path(models[0]) if models else None,
        choices=[SimpleNamespace(dry=each) for each in choices],
        configuration=SimpleNamespace(file=Path("trtlint.toml")),
        command=None,
    )
    reader = DryBuildReader(LintOptions((), TargetOptions(), dry=options), [*map(Path, models)], ())
    return reader.read(settings, before, settings.file)


def job(**more: Any) -> ModelEvidence:
    """Return a request, by default for the parser only."""
    fields: dict[str, Any] = {"version": "1.7.1", "folder": None, "level": "parse", "shapes": (),
                              "limits": Limits(), **more}  # fmt: skip
    return ModelEvidence((DryJob(**fields),))


@pytest.mark.parametrize(
    ("options", "choices", "expected"),
    [
        (DryOptions(), (), ModelEvidence()),
        (DryOptions("off"), (PARSE,), ModelEvidence()),
        (DryOptions(), (PARSE, DryOptions("off")), ModelEvidence()),
        (DryOptions(), (DryOptions("off"), PARSE), job()),
        (DryOptions(), (PARSE, DryOptions()), job()),
        (DryOptions("build", ""), (PARSE,), job(level="build")),
        (DryOptions("build", "1.6"), (), job(level="build", version="1.6")),
        (DryOptions("build"), (), job(level="build")),
        (DryOptions(seconds=2.0, memory=3, logs="logs"), (PARSE,),
         job(limits=Limits(2.0, 3), logs=Path("logs"))),
        (DryOptions(seconds=2.0), (PARSE,), job(limits=Limits(2.0, Limits().memory))),
        (DryOptions(rtx_path="/a/../b"), (PARSE,), job(folder="/b")),
        (DryOptions(compare=("",)), (PARSE,), job(compare=CompareRequest())),
        (DryOptions(compare=()), (DryOptions("parse", "", compare=("",)),), job()),
        (DryOptions(), (DryOptions("parse", "", compare=("",)), DryOptions(compare=("probe",))),
         job(compare=CompareRequest(probe=True))),
        (DryOptions(), (DryOptions("parse", "", compare=("probe",)), DryOptions()),
         job(compare=CompareRequest(probe=True))),
        (DryOptions(), (DryOptions("parse", "", compare=("probe",)), DryOptions(compare=())), job()),
    ],
)  # fmt: skip
def test_the_request_for_a_dry_build(
    options: DryOptions, choices: tuple[DryOptions, ...], expected: ModelEvidence
) -> None:
    assert read(options, *choices) == expected


def test_a_real_build_needs_no_dry_build() -> None:
    for before in (ModelEvidence(problems=(Problem("a.log", "damaged"),)), job()):
        assert read(PARSE, before=before) == ModelEvidence()


def test_the_parser_for_a_partition_is_that_of_the_dry_build() -> None:
    given: Any = SimpleNamespace(dry=DryOptions(rtx_path="a/../b"), ep=SimpleNamespace(provider="tensorrt"))
    settings: Any = SimpleNamespace(command=None)
    found = PartitionReader(given, [Path("a.onnx")], ()).read(settings, job(folder="/b"), None)
    assert found == ModelEvidence((PartitionJob("tensorrt", ProviderSettings(), "1.7.1", "/b", Limits()),))


def test_shapes_for_generated_inputs() -> None:
    found = read(
        DryOptions("parse", "", shapes=(("x", (1, 3)),), compare=("",)), DryOptions(shapes=(("y", (2,)),))
    )
    (request,) = found.evidence
    assert isinstance(request, DryJob)
    assert [each.name for each in request.shapes] == ["y", "x"]
    assert request.compare == CompareRequest(shapes=(("y", (2,)), ("x", (1, 3))))


@pytest.mark.parametrize(
    ("options", "choice", "where"),
    [
        (DryOptions("parse", "", compare=("none.npz",)), DryOptions(), "--compare"),
        (DryOptions(), DryOptions("parse", "", compare=("none.npz",)), "trtlint.toml: compare"),
    ],
)
def test_inputs_that_cannot_be_used(options: DryOptions, choice: DryOptions, where: str) -> None:
    with pytest.raises(SettingError) as error:
        read(options, choice)
    assert str(error.value) == f"{where}: none.npz: No such file or directory"


@pytest.mark.parametrize(
    ("models", "folder"),
    [
        (("a.onnx", "b.onnx"), "logs"),
        (("one/a.onnx", "one/b.onnx"), "logs"),
        (("one/a.onnx", "two/a.onnx"), "logs/one"),
        (("/one/../three/a.onnx", "two/a.onnx"), "logs/one/three"),
    ],
)
def test_models_of_the_same_name_have_logs_in_folders(models: tuple[str, ...], folder: str) -> None:
    options = DryOptions("parse", "", logs="logs")
    assert read(options, models=models) == job(logs=Path(folder))


def test_generated_inputs_have_the_usual_shape() -> None:
    shapes = (ShapeRange("x", ((1,), (2,), (3,))),)
    assert DryBuildReader._comparison(("",), shapes, "") == CompareRequest(shapes=(("x", (2,)),))


def test_a_release_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(version: str, folder: Path | None) -> None:
        raise WheelError(f"no {version} in {folder}")

    monkeypatch.setattr("trtlint.dry_build.wheels.find", find)
    with pytest.raises(WheelError) as error:
        read(DryOptions("parse", "1.6", rtx_path="wheels"))
    assert str(error.value) == "no 1.6 in wheels"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (DryOptions(shapes=(("x", (1,)),)), "--shapes"),
        (DryOptions(seconds=1.0), "--dry-build-seconds"),
        (DryOptions(memory=1), "--dry-build-memory"),
        (DryOptions(logs="logs"), "--dry-build-logs"),
    ],
)
def test_options_that_need_a_dry_build(options: DryOptions, named: str) -> None:
    with pytest.raises(SettingError, match=f"^{named} needs --dry-build, --dry-parse or --compare$"):
        read(options)
    assert read(options, PARSE).evidence
    with pytest.raises(SettingError, match=f"^{named} needs"):  # a remote model, or a model in memory
        read(options, models=())
    if named != "--shapes":  # another model of the run may have a dry build
        assert read(options, models=("a.onnx", "b.onnx")) == ModelEvidence()
