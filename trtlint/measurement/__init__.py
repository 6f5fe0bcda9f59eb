"""Measure tensor ranges of a model in ONNX Runtime, and the errors of its outputs in a low-precision type.

A low-precision type is FP16, BF16 or TF32. A rehearsal is a run that simulates the rounding to a
low-precision type. A product is a matrix product or a convolution.
"""
