"""Run a rewritten model and its original in ONNX Runtime, and compare the outputs."""
