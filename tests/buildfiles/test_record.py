"""The record of a build: which of several files counts."""

from __future__ import annotations

from typing import Any

import pytest

from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.layers import EngineLayer, LayerInfo
from trtlint.buildfiles.plan import PlanHeader
from trtlint.buildfiles.profile import LayerTime, Profile, Times
from trtlint.buildfiles.record import BuildRecord, FileRead, InspectedPlan, together
from trtlint.buildfiles.records import LayerDump, Log
from trtlint.buildfiles.settings import BuildSettings, PrintedShapes

LAYERS, OTHER = (LayerInfo((EngineLayer(0, name),)) for name in ("a", "b"))
PROFILE, LATER = (Profile(1, (LayerTime(name, 1, 1, None, 1),)) for name in ("a", "b"))
TIMES = Times(1, 1.0, None, None, None)
PLAN = PlanHeader("tensorrt", "10.8.0", 43)
SHAPES = (PrintedShapes("x", 0, "1", "2", "4"),)


UNKNOWN = BuildSettings()


def log(settings: BuildSettings = UNKNOWN, **parts: Any) -> Log:
    empty: dict[str, Any] = {"dumps": (), "profiles": (), "notes": ()}
    return Log(1, 2, settings, {}, {}, {}, {}, **{**empty, **parts})


def of(*contents: Any) -> BuildRecord:
    return together([FileRead(f"f{place}", content) for place, content in enumerate(contents)])


def test_every_kind_of_file() -> None:
    build = log(
        BuildSettings(gpu="L4", found={"gpu": 3}),
        dumps=(LayerDump(1, OTHER.layers),),
        profiles=(LATER,),
        notes=("cut",),
    )
    found = of(build, LAYERS, PROFILE, TIMES, PLAN, BuildSettings(sm=89, shapes=SHAPES))
    assert found == BuildRecord(
        files=("f0", "f1", "f2", "f3", "f4", "f5"),
        log=build,
        log_name="f0",
        layers=LAYERS,
        layers_name="f1",
        profile=PROFILE,
        profile_name="f2",
        times=TIMES,
        plan=PLAN,
        plan_name="f4",
        settings=BuildSettings(product="tensorrt", version="10.8.0", gpu="L4", sm=89, shapes=SHAPES),
        places={"gpu": "f0:3", "sm": "f5", "shapes": "f5", "product": "f4", "version": "f4"},
        notes=("f0: cut",),
    )


def test_the_last_lists_of_a_log() -> None:
    build = log(dumps=(LayerDump(1, LAYERS.layers), LayerDump(5, OTHER.layers)), profiles=(PROFILE, LATER))
    found = of(build)
    assert (found.layers, found.layers_name) == (OTHER, "f0")
    assert (found.profile, found.profile_name) == (LATER, "f0")
    assert (of(log()).layers, of(log()).profile_name) == (None, "")


def test_an_engine_with_its_layers() -> None:
    found = of(InspectedPlan(PLAN, LAYERS))
    assert (found.plan, found.plan_name, found.layers, found.layers_name) == (PLAN, "f0", LAYERS, "f0")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (log(), "log"), (LAYERS, "file of engine layers"), (PROFILE, "profile"), (TIMES, "file of times"),
        (PLAN, "engine"),
    ],
)  # fmt: skip
def test_a_second_file_of_a_kind(content: Any, kind: str) -> None:
    with pytest.raises(BuildFileError) as caught:
        of(content, content)
    assert caught.value.message == f"f1: a second {kind}; pass one file of each kind for a build"


def test_settings_may_come_from_several_files() -> None:
    found = of(
        log(
            BuildSettings(tool="python", precision=frozenset({"fp32", "fp16"}), tf32=True, found={"tf32": 4})
        ),
        BuildSettings(tool="trtexec", precision=frozenset({"int8", "fp32"}), tf32=True, sm=89),
        BuildSettings(tf32=False, sm=90, shapes=SHAPES, found={"sm": 2}),
    )
    assert found.settings == BuildSettings(
        tool="python", precision=frozenset({"fp32", "fp16"}), tf32=True, sm=89, shapes=SHAPES
    )
    assert found.places == {"tool": "f0", "precision": "f0", "tf32": "f0:4", "sm": "f1", "shapes": "f2"}
    both = "check that both files come from the same build"
    assert found.notes == (
        f"f1 reports precision fp32, int8, but f0 reports precision fp16, fp32; trtlint uses f0: {both}",
        f"f2:2 reports sm 90, but f1 reports sm 89; trtlint uses f1: {both}",
        f"f2 reports tf32 False, but f0:4 reports tf32 True; trtlint uses f0:4: {both}",
    )
