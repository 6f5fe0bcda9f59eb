"""The tested operators, each with its recipe."""

from __future__ import annotations

from benchmarks.probes.calls import Recipe, names
from benchmarks.probes.elementwise import BINARY, REDUCE, UNARY, VARIADIC, binary, reduce, unary, variadic
from benchmarks.probes.layout import (
    arg,
    clip,
    concat,
    cum_sum,
    expand,
    gather,
    gather_elements,
    gather_nd,
    one_hot,
    pad,
    range_,
    reshape,
    scatter_elements,
    scatter_nd,
    slice_,
    split,
    squeeze,
    tile,
    top_k,
    trilu,
    unsqueeze,
    where,
)
from benchmarks.probes.networks import attention, normalization, quantize, recurrent, rotary
from benchmarks.probes.windows import (
    conv,
    conv_transpose,
    depth_space,
    dft,
    einsum,
    gemm,
    grid_sample,
    lrn,
    matmul,
    nms,
    plain,
    pool,
    prelu,
    resize,
    reverse_sequence,
    roi_align,
    stft,
    tensor_scatter,
    window,
)

MICROSOFT: dict[str, Recipe] = {
    "com.microsoft." + op: plain(op, *dims, domain="com.microsoft", types=[1] * len(dims), **attributes)
    for op, dims, attributes in (
        ("Gelu", [(2, 4)], {}),
        ("BiasGelu", [(2, 4), (4,)], {}),
        ("FastGelu", [(2, 4)], {}),
        ("QuickGelu", [(2, 4)], {}),
        ("FusedMatMul", [(2, 3), (3, 4)], {"alpha": 0.5}),
        ("Inverse", [(3, 3)], {}),
        ("FusedConv", [(1, 2, 5, 5), (2, 2, 3, 3)], {"activation": "Relu"}),
        ("SkipLayerNormalization", [(1, 2, 4), (1, 2, 4), (4,)], {}),
        ("Trilu", [(3, 3)], {}),
        ("MultiHeadAttention", [(1, 2, 8), (1, 3, 8), (1, 3, 8)], {"num_heads": 2}),
        ("FusedGemm", [(2, 3), (3, 4)], {"activation": "Relu"}),
        ("EmbedLayerNormalization", [(1, 2), (1, 2), (4, 4), (4, 4), (4, 4), (4,), (4,)], {}),
    )
} | {
    "com.microsoft." + op: plain(op, *dims, domain="com.microsoft", types=types, **attributes)
    for op, dims, types, attributes in (
        ("QuantizeLinear", [(2, 3), (), ()], [1, 1, 3], {}),
        ("DequantizeLinear", [(2, 3), (), ()], [3, 1, 3], {}),
        ("Unique", [(4,)], [1], {}),
        ("Pad", [(2, 3), (4,)], [1, 7], {}),
        ("QLinearAdd", [(2, 3), (), (), (2, 3), (), (), (), ()], [3, 1, 3, 3, 1, 3, 1, 3], {}),
    )
}

MICROSOFT |= {
    f"com.microsoft.RotaryEmbedding ({form})": plain(
        "RotaryEmbedding",
        dims,
        (1,),
        (4, 2),
        (4, 2),
        domain="com.microsoft",
        types=[1, 7, 1, 1],
        **attributes,
    )
    for form, dims, attributes in (
        ("heads", (1, 2, 8), {"num_heads": 2, "rotary_embedding_dim": 4}),
        ("rank 3", (1, 2, 4), {}),
        ("rank 4", (1, 2, 2, 4), {}),
    )
}

FOREIGN: dict[str, Recipe] = {
    op: plain(op, *dims, types=types, since=since, **attributes)
    for op, dims, types, since, attributes in (
        ("QLinearMatMul", [(2, 3), (), (), (3, 4), (), (), (), ()], [3, 1, 3, 3, 1, 3, 1, 3], 10, {}),
        ("NegativeLogLikelihoodLoss", [(2, 3), (2,)], [1, 7], 12, {}),
        ("SoftmaxCrossEntropyLoss", [(2, 3), (2,)], [1, 7], 12, {}),
        ("Compress", [(3, 2), (3,)], [1, 9], 9, {"axis": 0}),
        ("Multinomial", [(2, 3)], [1], 7, {"sample_size": 2}),
        ("AffineGrid", [(1, 2, 3), (4,)], [1, 7], 20, {}),
        ("MaxRoiPool", [(1, 1, 4, 4), (1, 5)], [1, 1], 1, {"pooled_shape": [2, 2]}),
        ("Col2Im", [(1, 4, 4), (2,), (2,)], [1, 7, 7], 18, {}),
        ("CenterCropPad", [(4, 3), (2,)], [1, 7], 18, {}),
        (
            "TfIdfVectorizer",
            [(4,)],
            [7],
            9,
            {
                "max_gram_length": 1,
                "min_gram_length": 1,
                "max_skip_count": 0,
                "mode": "TF",
                "ngram_counts": [0],
                "ngram_indexes": [0, 1],
                "pool_int64s": [1, 2],
            },
        ),
    )
}
"""Operators that few models have."""

RECIPES: dict[str, Recipe] = {
    **{op: unary(op) for op in UNARY},
    **{op: binary(op) for op in BINARY},
    **{op: variadic(op) for op in VARIADIC},
    **{op: reduce(op) for op in REDUCE},
    **{op: pool(op) for op in ("AveragePool", "MaxPool", "LpPool")},
    **{op: arg(op) for op in ("ArgMax", "ArgMin")},
    **{
        op: normalization(op)
        for op in (
            "BatchNormalization",
            "InstanceNormalization",
            "GroupNormalization",
            "LayerNormalization",
            "RMSNormalization",
        )
    },
    **{op: recurrent(op) for op in ("LSTM", "GRU", "RNN")},
    **{op: quantize(op) for op in ("QuantizeLinear", "DequantizeLinear")},
    **{op: depth_space(op) for op in ("DepthToSpace", "SpaceToDepth")},
    **{op: window(op) for op in ("HannWindow", "HammingWindow", "BlackmanWindow")},
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "MatMul": matmul,
    "Gemm": gemm,
    "Einsum": einsum,
    "Pad": pad,
    "Slice": slice_,
    "Split": split,
    "Concat": concat,
    "Reshape": reshape,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Expand": expand,
    "Tile": tile,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Where": where,
    "Clip": clip,
    "OneHot": one_hot,
    "Range": range_,
    "CumSum": cum_sum,
    "Trilu": trilu,
    "TopK": top_k,
    "Resize": resize,
    "Attention": attention,
    "RotaryEmbedding": rotary,
    "GridSample": grid_sample,
    "PRelu": prelu,
    "LRN": lrn,
    "ReverseSequence": reverse_sequence,
    "NonMaxSuppression": nms,
    "RoiAlign": roi_align,
    "STFT": stft,
    "DFT": dft,
    "TensorScatter": tensor_scatter,
    "MatMulInteger": plain("MatMulInteger", (2, 3), (3, 2), types=[2, 2]),
    "ConvInteger": plain("ConvInteger", (1, 1, 4, 4), (1, 1, 2, 2), types=[2, 2]),
    "DynamicQuantizeLinear": plain("DynamicQuantizeLinear", (2, 3), types=[1]),
    "Unique": plain("Unique", (4,)),
    **MICROSOFT,
    **FOREIGN,
}
"""The operators that are probed, by name."""

OFTEN = names(
    "Resize Pad QuantizeLinear DequantizeLinear Attention Einsum ConvTranspose Conv LSTM GRU "
    "RNN MaxPool AveragePool Reshape MatMul ScatterND ScatterElements RotaryEmbedding Split "
    "Squeeze Trilu GridSample OneHot RMSNormalization Expand Slice Concat CumSum Clip Tile "
    "Range TopK Where Gather Unsqueeze "
)
"""Operators with many forms, which are drawn more often."""
