"""The parts into which the TensorRT providers of ONNX Runtime divide a model."""
