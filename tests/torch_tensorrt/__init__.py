"""Tests of the room torch_tensorrt."""
