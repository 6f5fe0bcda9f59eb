"""The ranges of the tensors of a model, and its outputs rehearsed in a narrow type, in ONNX Runtime."""
