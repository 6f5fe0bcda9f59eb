"""Prepare a model for rewriting: inline functions and infer types.

Weights stay in their files. ONNX Runtime gets the rewritten model as bytes, in which large tensors refer to
their location in a file. So weights are not copied, and protobuf's limit of 2 GB does not apply.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
from msgspec import Struct, field
from onnx import TensorProto, numpy_helper

from trtlint.errors import ExperimentError
from trtlint.measurement.choosing import ChoosingNodes, find_choices
from trtlint.measurement.compared import ComparedTensors, find_compared
from trtlint.measurement.folding import Folding, find_folding
from trtlint.model.external import set_place, unreadable_values
from trtlint.model.graph import Graph, Node
from trtlint.model.load import structure
from trtlint.model.protos import opsets, text
from trtlint.model.tensors import TensorStore

NARROW = frozenset({"f16", "bf16"})
"""The 16-bit element types that a model file can have."""
_MOST_INLINE = 1 << 30
"""Largest size in bytes of tensors that are copied into a rewritten model.

Tensors are copied if no file holds their elements in the required form.
"""


_OLDEST_OPSET = 7
"""The oldest opset that ONNX Runtime supports. In this opset, operators broadcast without an attribute:
https://onnxruntime.ai/docs/reference/compatibility.html
"""
_DEFAULT_OPSET = 17
"""The opset of added operators if the model has no operator of the default domain."""


class TrialError(ExperimentError):
    """Error: a model cannot be run.  The message is the reason."""


class ModelNotLoadedError(TrialError):
    """Error: ONNX Runtime cannot load a model, or a weight cannot be read. Other inputs do not help."""


class TrialModel(Struct, frozen=True):
    """A model without its weights.

    Attributes:
        proto: the model with inlined functions and inferred types.
        graph: the graph of the model.
        scopes: the nodes of each graph in topological order, by scope; ``""`` is the scope of the main graph.
        tensors: the weights.
        opset: version of the default operator set.
        typed: true if the model has tensors of 16-bit types. If so, the simulation rounds no other tensors.
        folding: the operators that TensorRT folds into stored weights.
        compared: the tensors to compare instead of the outputs, if no output has a float type.
        choices: the operators such as TopK whose choice affects float outputs.
    """

    proto: onnx.ModelProto
    graph: Graph
    scopes: Mapping[str, Sequence[Node]]
    tensors: TensorStore
    opset: int
    typed: bool
    folding: Folding = field(default_factory=Folding)
    compared: ComparedTensors = field(default_factory=ComparedTensors)
    choices: ChoosingNodes = field(default_factory=ChoosingNodes)

    @property
    def narrow(self) -> frozenset[str]:
        """Return the element types, such as ``f32``, that a build converts to the low-precision type."""
        return NARROW if self.typed else frozenset({"f32"})

    def stored(self, tensor: onnx.TensorProto, *, inline: bool = False) -> onnx.TensorProto:
        """Return an initializer for a rewritten model.

        The initializer of a large tensor refers to the elements in the original file.

        Args:
            tensor: the tensor of the model.
            inline: true if the initializer must contain its elements.

        Raises:
            ModelNotLoadedError: the elements cannot be read.
        """
        if tensor.data_location != TensorProto.EXTERNAL:
            return tensor
        place = None if inline else self.tensors.place(tensor)
        if place is None:
            array = self.tensors.array(tensor)
            if array is None or array.nbytes > _MOST_INLINE:
                raise ModelNotLoadedError(unreadable_values(tensor))
            return numpy_helper.from_array(array, text(tensor.name))
        path, offset, length = place
        found = TensorProto(dims=tensor.dims, data_type=tensor.data_type, name=tensor.name)
        set_place(found, str(path.relative_to(path.anchor)), offset, length)
        return found


def load_trial_model(path: Path) -> TrialModel:
    """Read a model without its weights, inline its functions, and infer its types.

    Raises:
        ModelError: trtlint cannot lint the model.
        TrialError: the model cannot be run.
    """
    proto, tensors = structure(path)
    graph = Graph(proto.graph)
    scopes: dict[str, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        scopes[node.scope].append(node)
    opset = opsets(proto).get("", 0)
    if 0 < opset < _OLDEST_OPSET:
        raise TrialError(
            f"ONNX Runtime supports opset {_OLDEST_OPSET} and newer, and the model has opset {opset}:"
            " convert the model with onnx.version_converter"
        )
    if not opset:
        if any(not node.domain for node in graph.nodes):
            raise TrialError("the opset_import of the model lacks the default domain; export the model again")
        opset = _DEFAULT_OPSET
    if any(each.values.data_location == TensorProto.EXTERNAL for each in proto.graph.sparse_initializer):
        raise TrialError("the model has large sparse weights; store them as dense tensors")
    values = (value for same in graph.values.values() for value in same)
    typed = any(value.dtype in NARROW for value in values)
    folding = Folding() if typed else find_folding(graph, tensors, opset)
    compared, choices = find_compared(graph), find_choices(graph, opset)
    return TrialModel(proto, graph, scopes, tensors, opset, typed, folding, compared, choices)
