"""The producer of networks of Torch-TensorRT; this module imports nothing."""

NETWORK_PRODUCER = "Torch-TensorRT"
