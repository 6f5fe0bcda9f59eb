"""Dry builds: run the parser and builder of TensorRT-RTX without a GPU."""
