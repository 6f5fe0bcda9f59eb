"""Whether this machine has the wheels of TensorRT-RTX, and models to give them."""

from __future__ import annotations

import pytest

from trtlint.trials.errors import WheelError
from trtlint.trials.wheels import find

try:
    VERSION = find().version
except WheelError:
    VERSION = ""

NEEDS_WHEELS = pytest.mark.skipif(
    not VERSION, reason="the wheels of TensorRT-RTX are not installed: pip install 'trtlint[rtx]'"
)
