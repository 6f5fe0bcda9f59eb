"""ONNX without its weights: the reader, the graph, values, and where nodes come from."""
