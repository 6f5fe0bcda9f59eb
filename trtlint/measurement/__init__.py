"""Tensor ranges of a model, and its output errors in a narrow type, measured in ONNX Runtime."""
