"""Random models, fixed by ``trtlint fix`` and judged by ONNX Runtime.

Nothing here imports trtlint: the generator, the inputs and the comparison are independent of the code that
they judge.
"""
