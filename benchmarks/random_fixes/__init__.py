"""Random models, fixed by ``trtlint fix`` and judged by ONNX Runtime.

This package does not import trtlint: generator, inputs and comparison are independent of the tested code.
"""
