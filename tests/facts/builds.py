"""Handmade builds: the files of a build as text."""

from __future__ import annotations

import io

from tests.graphs import model_of
from trtlint.buildfiles.layers import layers_from_json, parse_json
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.profile import profile_from_json
from trtlint.buildfiles.record import FileContents, together
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.facts.facts import Facts


def facts_of_build(
    log: str | None = None, layers: str | None = None, profile: str | None = None, model: str | None = None
) -> Facts:
    """Return the facts of a build, with its model if given."""
    files = []
    if log is not None:
        files.append(FileContents("build.log", read_log(io.BytesIO(log.encode()))))
    if layers is not None:
        files.append(FileContents("layers.json", layers_from_json(parse_json(layers.encode()))))
    if profile is not None:
        files.append(FileContents("profile.json", profile_from_json(parse_json(profile.encode()))))
    return Facts(None if model is None else model_of(model), evidence=[BuildEvidence(together(files))])
