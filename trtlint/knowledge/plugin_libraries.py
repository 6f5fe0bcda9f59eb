"""Read the libraries that contain TensorRT plugins, from plugin_libraries.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct, convert

from trtlint.knowledge import data
from trtlint.knowledge.frontends import FrontEnd

_FILE = "libplugin.so"
"""Placeholder for the name of the library in the texts of frontends.yaml."""
_NVIDIA = "libnvinfer_plugin"
_INIT = (
    'trt.init_libnvinfer_plugins(logger, "") in Python or initLibNvInferPlugins(&logger, "") in C++, before'
    " the program parses the network or loads the engine (trtexec, Polygraphy and ONNX Runtime do so)"
)


class PluginLibrary(Struct, frozen=True, rename={"file": "library"}):
    """A library that contains TensorRT plugins.

    Attributes:
        file: the file name of the library.  For TensorRT's own library, the name without version and
            extension.
        project: the project that publishes the library.
        get: how the user can get the file.
        load: how a program loads the library; empty if the usual option of the program is enough.
    """

    file: str
    project: str
    get: str
    load: str = ""


def libraries_of(plugin: str) -> Sequence[PluginLibrary]:
    """Return the known libraries that contain a plugin.

    ``plugin`` is the name of the plugin, as TensorRT prints it.
    """
    for namespace, library in _by_namespace().items():
        if plugin.endswith(namespace):
            return (library,)
    if releases := data("operators")["plugins"].get(plugin):
        get = f"use TensorRT {releases}, whose plugin library contains the plugin"
        if releases == "*":
            get = "use a newer TensorRT release, because old releases lack some of NVIDIA's plugins"
        return (PluginLibrary(_NVIDIA, "TensorRT", get, _INIT),)
    return _by_plugin().get(plugin, ())


def loading(libraries: Sequence[PluginLibrary], program: FrontEnd) -> str:
    """Return a text that says how a program loads a plugin library.

    The text contains the name of the library if ``libraries`` has exactly one library.  Otherwise, the text
    contains the example name libplugin.so.
    """
    if len(libraries) != 1:
        return program.plugin
    (library,) = libraries
    return library.load or program.plugin.replace(_FILE, library.file)


@cache
def _by_plugin() -> Mapping[str, tuple[PluginLibrary, ...]]:
    found: dict[str, tuple[PluginLibrary, ...]] = {}
    for row in data("plugin_libraries"):
        for name in row["plugins"]:
            found[name] = (*found.get(name, ()), convert(row, PluginLibrary))
    return found


@cache
def _by_namespace() -> Mapping[str, PluginLibrary]:
    rows = (row for row in data("plugin_libraries") if "namespace" in row)
    return {row["namespace"]: convert(row, PluginLibrary) for row in rows}
