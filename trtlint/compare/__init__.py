"""Compare the outputs of a rewritten model with the outputs of the original model in ONNX Runtime."""
