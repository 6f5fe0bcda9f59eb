"""Read the engine layers for a measurement, from an engine or a dry build."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.errors import SettingError
from trtlint.measurement.fusion import FusedLayers, fused_layers
from trtlint.target.target import Target, first_sm

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord
    from trtlint.commands.measure import MeasureOptions
    from trtlint.model.load import Model


def layers_of(options: MeasureOptions, model: Model, targets: Sequence[Target]) -> FusedLayers | None:
    """Return the engine layers that ``trtlint measure`` simulates, or None if no option requests layers.

    Raises:
        SettingError: the file cannot be read or belongs to another model, or the dry build fails.
    """
    if options.layers is not None and options.dry_build is not None:
        raise SettingError("--layers cannot be used with --dry-build; keep --layers, which is more exact")
    if options.layers is not None:
        from trtlint.buildfiles.gather import of_model

        gathered = of_model(Path(options.model), [(options.layers, "layers")])
        if gathered.problems or gathered.record is None:
            raise SettingError("; ".join(map(str, gathered.problems)) or f"{options.layers}: no layers")
        return _joined(model, gathered.record, options.layers)
    if options.dry_build is None:
        return None
    from trtlint.dry_build.drybuild import dry_build
    from trtlint.dry_build.errors import DryBuildError, WheelError

    try:
        built = dry_build(Path(options.model), version=options.dry_build or None, sm=first_sm(targets))
    except (WheelError, DryBuildError) as error:
        raise SettingError(f"--dry-build: {error}") from None
    if built.record is None or not built.result.built:
        raise SettingError(f"--dry-build: {built.result.label}: the model was not built")
    return _joined(model, built.record, built.result.label)


def _joined(model: Model, record: BuildRecord, source: str) -> FusedLayers:
    found = fused_layers(model, record, source)
    if found is None:
        raise SettingError(
            f"{source}: no layer belongs to a node of {model.path}; pass the layer information of "
            "this model's build"
        )
    return found
