"""Facts from the ONNX model."""
