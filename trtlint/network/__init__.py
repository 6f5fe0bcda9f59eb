"""Compare an ONNX model with the network that TensorRT's parser makes from it, tensor by tensor.

trtlint computes the model and the network on the CPU, with the same inputs.
"""
