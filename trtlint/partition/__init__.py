"""Find the parts of a model that the execution providers of ONNX Runtime run with TensorRT.

A region is a set of nodes of one graph that a provider passes to NVIDIA's parser.  A part is a region that
TensorRT runs as one engine.
"""
