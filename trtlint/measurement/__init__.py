"""Measure tensor ranges of a model, and the errors of its outputs in a narrow type, in ONNX Runtime.

A narrow type is FP16, BF16 or TF32.  A run that simulates the rounding to a narrow type is called a
rehearsal.
"""
