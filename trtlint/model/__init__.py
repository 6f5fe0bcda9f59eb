"""Read ONNX models without their weights: the file reader, the graph, its values, and the origin of nodes."""
