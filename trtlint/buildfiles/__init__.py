"""Read the files that a build writes: logs, layer information, profiles and engine files.

This package does not use rules or facts.  Only :mod:`~trtlint.buildfiles.join` uses the ONNX graph.
"""
