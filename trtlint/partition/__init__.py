"""Divide a model into parts for TensorRT, as the execution providers of ONNX Runtime do.

A region is a set of nodes of one graph that a provider passes to NVIDIA's parser.  A part is a region that
TensorRT runs as one engine.
"""
