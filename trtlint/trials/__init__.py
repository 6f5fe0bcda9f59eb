"""What is found out by running it: NVIDIA's parser and builder, a model in ONNX Runtime.

Whatever is run is not ours and may crash, hang or take all memory, so that it runs in a process of its
own with limits: see :mod:`trtlint.trials.process`.
"""
