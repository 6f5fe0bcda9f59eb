"""ONNX models, read without their weights: the reader, the graph, values, and the origin of nodes."""
