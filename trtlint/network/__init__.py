"""Compute the network that NVIDIA's parser makes, and compare it with the ONNX model, tensor by tensor."""
