"""Tests of the package ``trtlint.torch_tensorrt``."""
