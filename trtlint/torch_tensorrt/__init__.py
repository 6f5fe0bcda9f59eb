"""Check uses of Torch-TensorRT without ONNX: calls in Python scripts, and exported programs.

trtlint never imports torch in its own process. Modules whose name begins with ``_`` run in another process.
"""
