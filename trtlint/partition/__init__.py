"""Find the parts of a model that TensorRT runs, as the execution providers of ONNX Runtime choose them.

A region is a set of nodes of one graph that a provider passes to NVIDIA's parser.  A part is a region that
TensorRT runs as one engine.
"""
