"""Facts from calls of Torch-TensorRT and from exported programs."""
