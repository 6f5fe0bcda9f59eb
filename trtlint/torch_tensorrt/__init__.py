"""Check uses of Torch-TensorRT without ONNX: calls in Python scripts, and exported programs.

This process never imports torch.
"""
