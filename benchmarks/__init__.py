"""Benchmarks for the figures in the manual; ``make bench`` runs all of them.

Each figure is a ratio of two measurements in the same run, so it does not depend on the machine.
"""

import os

# In this process and its child processes, ONNX Runtime must not send events.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
