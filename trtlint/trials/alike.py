"""Copies of two models that are to be compared, so that what is no fault of either makes no difference.

Types that ONNX Runtime has no kernels for are FP32 in both, what draws random numbers without a seed
gets one, the same in both, and neither says that it is of a format newer than the one ONNX Runtime reads.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from trtlint.model.contents import graphs, nodes
from trtlint.model.operators import RANDOM
from trtlint.model.protos import domain_of, text
from trtlint.trials.widening import widen_node, widen_type

_NARROW = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
IR_VERSION = 10
"""The newest version of the format that all of ONNX Runtime since 1.18 reads; newer ones only add to it.
https://onnxruntime.ai/docs/reference/compatibility.html
"""
_TRAINED = 2
"""The input of Dropout that says whether the model is trained: it draws random numbers only then."""
_APART = 1024
"""Bytes from which a tensor is kept in a file beside the copy: no message holds more than 2 GB."""


class RandomError(ValueError):
    """What draws random numbers in one model does not do so in the other."""


def alike(before: Path, after: Path, folder: Path, *, wide: bool) -> tuple[Path, Path]:
    """Two models as they can be compared: copies where something is to be changed, else themselves.

    Args:
        before: a model.
        after: its rewritten form.
        folder: where copies may be written.
        wide: whether both are to compute in FP32 what they compute in 16 bits.

    Raises:
        RandomError: random numbers are drawn without a seed at other places in the two.
    """
    paths = before, after
    shells = [onnx.load(path, load_external_data=False) for path in paths]
    # Each as often as there is one: bodies may use one name.
    draws = [sorted(_key(node) for node in _drawing(shell)) for shell in shells]
    if draws[0] != draws[1]:
        raise RandomError("the model draws random numbers without a seed, and the rewrite has changed where")
    newer = any(shell.ir_version > IR_VERSION for shell in shells)
    if not wide and not draws[0] and not newer:
        return paths
    copies = folder / "before.onnx", folder / "after.onnx"
    for path, copy in zip(paths, copies, strict=True):
        proto = onnx.load(path)
        for node in _drawing(proto):
            seed = float(zlib.crc32(_key(node).encode()) % 10_000)
            node.attribute.append(helper.make_attribute("seed", seed))
        if wide:
            _widen(proto)
        proto.ir_version = min(proto.ir_version, IR_VERSION)
        apart = f"{copy.stem}.{'wide' if wide else 'own'}.bin"
        (folder / apart).unlink(missing_ok=True)  # what is there would be appended to
        onnx.save(
            proto,
            copy,
            save_as_external_data=True,
            location=apart,
            size_threshold=_APART,
        )
    return copies


def _key(node: NodeProto) -> str:
    """What a node that draws random numbers is known by in both models: the value that it gives."""
    return text(node.output[0])


def _drawing(proto: onnx.ModelProto) -> Iterator[NodeProto]:
    """The operators that draw random numbers without a seed, those in bodies and functions too."""
    for node in nodes(proto):
        if domain_of(node.domain) or any(attribute.name == "seed" for attribute in node.attribute):
            continue
        trained = node.op_type == "Dropout" and len(node.input) > _TRAINED and node.input[_TRAINED]
        if node.op_type in RANDOM or trained:
            yield node


def _widen(proto: onnx.ModelProto) -> None:
    """Let a model compute in FP32 what it computes in types of 16 bits."""
    for graph in graphs(proto):
        for tensor in graph.initializer:
            if tensor.data_type in _NARROW:
                wide = numpy_helper.to_array(tensor).astype(np.float32)
                tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))
        for info in (*graph.input, *graph.output):
            copy = onnx.ValueInfoProto()
            copy.CopyFrom(info)
            widen_type(info, copy)
        del graph.value_info[:]
    for node in nodes(proto):
        widen_node(node)
