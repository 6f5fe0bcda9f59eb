"""A changed model compared with its original, in ONNX Runtime."""
