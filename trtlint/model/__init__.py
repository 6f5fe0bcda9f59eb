"""Read ONNX models without their weights, compute constants of the graph, and find the origin of nodes."""
