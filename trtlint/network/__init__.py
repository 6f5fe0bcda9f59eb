"""Compare the network that NVIDIA's parser makes with the ONNX model, tensor by tensor.

Both are computed on the CPU, on the same inputs.
"""
