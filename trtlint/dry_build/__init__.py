"""Dry builds: a model in the real parser and builder of TensorRT-RTX, which need no GPU for it."""
