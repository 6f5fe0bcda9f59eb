"""Compare the network that TensorRT's parser makes from an ONNX model with the model, tensor by tensor.

Both are computed on the CPU, with the same inputs.
"""
