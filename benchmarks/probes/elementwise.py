"""Element-wise operators and reductions."""
# Every recipe gets the opset, even if the recipe does not use it.
# ruff: noqa: ARG001

from __future__ import annotations

import random
from typing import Any

import numpy as np

from benchmarks.probes.calls import (
    FLOAT,
    Call,
    Kind,
    Operand,
    Recipe,
    broadcast,
    data,
    ints,
    names,
    number,
    shape,
    wild_shape,
)

UNARY = names(
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor IsInf IsNaN Log Neg Not "
    "Reciprocal Round Sigmoid Sign Sin Sinh Softsign Sqrt Tan Tanh Relu Identity Shape Size "
    "HardSwish Mish Softplus Elu Selu LeakyRelu ThresholdedRelu Celu HardSigmoid Shrink Gelu "
    "Swish Det GlobalAveragePool GlobalMaxPool GlobalLpPool LpNormalization "
    "MeanVarianceNormalization NonZero BitwiseNot Bernoulli EyeLike Hardmax Softmax "
    "LogSoftmax Flatten Dropout RandomNormalLike RandomUniformLike ConstantOfShape Cast "
    "CastLike Transpose "
)
BINARY = names(
    "Add Sub Mul Div Pow And Or Xor Equal Greater Less GreaterOrEqual LessOrEqual Mod "
    "BitwiseAnd BitwiseOr BitShift "
)
VARIADIC = names("Max Min Sum Mean ")
REDUCE = names(
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
    "ReduceSum ReduceSumSquare "
)


def unary(op: str) -> Recipe:
    """Return a recipe for an operator with one operand."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        low = {"Det": 2, "GlobalAveragePool": 3, "GlobalMaxPool": 3, "GlobalLpPool": 3, "EyeLike": 2}.get(
            op, 0
        )
        high = {"GlobalAveragePool": 5, "GlobalMaxPool": 5, "GlobalLpPool": 4, "EyeLike": 2}.get(op, 5)
        if op in ("Hardmax", "Softmax", "LogSoftmax", "LpNormalization"):
            low = 1
        if op == "MeanVarianceNormalization":
            low = high = 4
        dims = wild_shape(rng, low, high) if high == 5 and low < 3 else shape(rng, low, high)
        if op == "Det":
            dims = (*dims[:-2], 3, 3)
        operand = data(rng, dims)
        attributes: dict[str, Any] = {}
        if op in ("Acosh", "Log", "Sqrt", "Reciprocal"):
            operand = Operand(np.abs(operand.array) + 1.5)
        elif op in ("Asin", "Acos", "Atanh"):
            operand = Operand(operand.array / 8)
        if op in ("Hardmax", "Softmax", "LogSoftmax", "LpNormalization") and rng.random() < 0.7:
            attributes["axis"] = rng.randrange(-len(dims), len(dims))
        if op in ("GlobalLpPool", "LpNormalization") and rng.random() < 0.5:
            attributes["p"] = rng.choice([1, 2])
        if op == "Elu" and rng.random() < 0.5:
            attributes["alpha"] = 0.7
        if op == "Gelu" and rng.random() < 0.5:
            attributes["approximate"] = rng.choice(["none", "tanh"])
        if op == "Flatten":
            attributes["axis"] = rng.randint(0, len(dims))
        if op == "Transpose" and rng.random() < 0.8:
            attributes["perm"] = rng.sample(range(len(dims)), len(dims))
        if op == "Cast":
            attributes["to"] = rng.choice([1, 1, 10, 16, 6, 7, 9, 2, 3, 11, 12, 5, 13, 17, 19])
        if op == "CastLike":
            return Call(op, [operand, data(rng, (1,), type=rng.choice([1, 10, 6, 7, 9, 3, 2, 16]))])
        if op in ("RandomNormalLike", "RandomUniformLike", "EyeLike", "Bernoulli") and rng.random() < 0.5:
            attributes["dtype"] = rng.choice([1, 10, 1, 11])
        if op == "ConstantOfShape":
            return Call(
                op, [ints(shape(rng, 0, 3))], {"value": rng.choice([1, 10, 7, 6, 9, 3, 2, 16, 11, 12])}
            )
        if op == "Dropout":
            if opset < 12:
                return Call(
                    op, [operand], {"ratio": 0.4} if rng.random() < 0.5 else {}, rng.choice([1, 1, 2])
                )
            extra: list[Operand | None] = [number(0.4, FLOAT)] if rng.random() < 0.5 else []
            return Call(op, [operand, *extra], {}, rng.choice([1, 1, 2]))
        return Call(op, [operand], attributes)

    return recipe


def binary(op: str) -> Recipe:
    """Return a recipe for an operator with two operands that broadcast."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        dims = wild_shape(rng)
        a, b = data(rng, dims), data(rng, broadcast(rng, dims))
        attributes: dict[str, Any] = {}
        if op in ("Div", "Mod"):
            b = Operand(np.abs(b.array) + 1)
        if op == "Pow":
            a, b = Operand(np.abs(a.array) + 1), Operand(np.round(np.abs(b.array)))
        if op == "Mod":
            attributes["fmod"] = rng.choice([0, 1])
        if op == "BitShift":
            attributes["direction"] = rng.choice(["LEFT", "RIGHT"])
        kind: Kind = "weight" if rng.random() < 0.4 else "data"
        b = Operand(b.array, kind)
        return Call(op, [a, b] if rng.random() < 0.7 or op in ("Pow", "Div", "Mod") else [b, a], attributes)

    return recipe


def variadic(op: str) -> Recipe:
    """Return a recipe for an operator with one to three operands that broadcast."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        dims = wild_shape(rng)
        return Call(
            op, [data(rng, dims)] + [data(rng, broadcast(rng, dims)) for _ in range(rng.randint(0, 2))]
        )

    return recipe


def reduce(op: str) -> Recipe:
    """Return a recipe for a reduction."""

    def recipe(rng: random.Random, opset: int) -> Call | None:
        dims = wild_shape(rng, 1, 5)
        operand = Operand(np.abs(data(rng, dims).array) + 0.5)
        attributes: dict[str, Any] = {"keepdims": rng.choice([0, 1])}
        axes = rng.sample(range(len(dims)), rng.randint(1, len(dims)))
        axes = [axis - len(dims) if rng.random() < 0.3 else axis for axis in axes]
        if rng.random() < 0.2:
            return Call(op, [operand], attributes)
        if opset >= (13 if op == "ReduceSum" else 18):
            if rng.random() < 0.1:
                attributes["noop_with_empty_axes"] = rng.choice([0, 1])
                axes = []
            return Call(op, [operand, ints(axes)], attributes)
        return Call(op, [operand], {**attributes, "axes": axes})

    return recipe
