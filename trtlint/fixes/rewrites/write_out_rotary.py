"""``RotaryEmbedding`` written out: halves of the heads turned by cosine and sine.

Definition: https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html
"""

from __future__ import annotations

import numpy as np

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, Patch, Refusal
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model

_FAR = np.iinfo(np.int64).max


def propose(fact: Fact, model: Model) -> Patch | Refusal:
    """Write out the operator at which a fact was found."""
    node = fact.node
    if node is None or node.op != "RotaryEmbedding" or node.domain:
        return Refusal("there is no RotaryEmbedding of ONNX here")
    data, cosine, sine = (node.input(port) for port in range(3))
    if data is None or cosine is None or sine is None or data.shape is None:
        return Refusal("the shape of what it turns is not known")
    heads = int(node.number("num_heads", 0))
    rank = len(data.shape)
    if rank not in (3, 4) or (rank == 3 and heads < 1):
        return Refusal("what it turns is not of rank 3 or 4, or the number of heads is not given")
    draft = Draft(model, node)
    tensor = data.name
    if rank == 3:
        apart = draft.op("Reshape", data, draft.ints(0, 0, heads, -1))
    else:
        apart = draft.op("Transpose", tensor, perm=[0, 2, 1, 3])
    turned = _turned(draft, node, apart, (cosine, sine))
    if rank == 3:
        draft.op("Reshape", turned, draft.ints(0, 0, -1), out=node.output.name)
    else:
        draft.op("Transpose", turned, perm=[0, 2, 1, 3], out=node.output.name)
    return draft.patch("writes RotaryEmbedding out", [node])


def _turned(draft: Draft, node: Node, tensor: str, caches: tuple[Value, Value]) -> str:
    """A tensor of batch, length, heads and features, its first features turned."""
    share = int(node.number("rotary_embedding_dim", 0))
    rest = ""
    if share:
        rest = _cut(draft, tensor, share, _FAR)
        tensor = _cut(draft, tensor, 0, share)
    positions = node.input(3)
    angles = []
    for cache in caches:
        picked = cache.name if positions is None else draft.op("Gather", cache, positions, axis=0)
        angles.append(draft.op("Unsqueeze", picked, draft.ints(2)))
    cosine, sine = angles
    interleaved = bool(node.number("interleaved", 0))
    if interleaved:
        first, second = (_cut(draft, tensor, start, _FAR, 2) for start in (0, 1))
    else:
        halves = [draft.name("half"), draft.name("half")]
        draft.op("Split", tensor, out=halves, axis=-1, num_outputs=2)
        first, second = halves
    real = draft.op("Sub", draft.op("Mul", first, cosine), draft.op("Mul", second, sine))
    imaginary = draft.op("Add", draft.op("Mul", first, sine), draft.op("Mul", second, cosine))
    if interleaved:
        pairs = [draft.op("Unsqueeze", part, draft.ints(-1)) for part in (real, imaginary)]
        merged = draft.op("Concat", *pairs, axis=-1)
        joined = draft.op("Reshape", merged, draft.op("Shape", tensor))
    else:
        joined = draft.op("Concat", real, imaginary, axis=-1)
    return draft.op("Concat", joined, rest, axis=-1) if rest else joined


def _cut(draft: Draft, tensor: str, start: int, stop: int, step: int = 1) -> str:
    bounds = (draft.ints(start), draft.ints(stop), draft.ints(-1), draft.ints(step))
    return draft.op("Slice", tensor, *bounds)
