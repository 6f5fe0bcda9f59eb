"""Read ONNX models without their weights, and find the values of a graph and the origin of its nodes."""
