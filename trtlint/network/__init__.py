"""Compare the tensors of an ONNX model with the network that TensorRT's parser makes from the model.

trtlint computes the model and the network on the CPU, with the same inputs.
"""
