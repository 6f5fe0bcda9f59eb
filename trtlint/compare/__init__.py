"""Compare the outputs of a changed model with the outputs of the original, in ONNX Runtime."""
