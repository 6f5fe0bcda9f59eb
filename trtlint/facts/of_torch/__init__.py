"""Facts about calls of Torch-TensorRT and about exported programs."""
