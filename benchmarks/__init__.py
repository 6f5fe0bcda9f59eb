"""Measurements that the project's claims rest on; ``make bench`` runs them all.

Every figure is a ratio of two things measured in one run, so that it means the same on any machine.
"""

import os

# Neither this process nor those that it begins let ONNX Runtime send events.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
