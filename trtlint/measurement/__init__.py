"""Measure the tensor ranges of a model in ONNX Runtime, and the errors of its outputs in a narrow type.

A narrow type is FP16, BF16 or TF32. A rehearsal is a run that simulates the rounding to a
narrow type. A product is a matrix product or a convolution.
"""
