"""Torch-TensorRT without ONNX: calls in Python scripts, and exported programs.

Nothing of torch is imported in this process.
"""
