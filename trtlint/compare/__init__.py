"""Numeric comparison of a changed model with its original in ONNX Runtime."""
