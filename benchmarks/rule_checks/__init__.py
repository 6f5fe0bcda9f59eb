"""Claims of rules, checked without a GPU: by NVIDIA's parser and builder, or by computation.

Each theme has a module with ``CHECKS``, a list of :class:`~benchmarks.rule_checks.check.Check`. ``THEMES``
lists the modules. ``python -m benchmarks.rule_checks`` runs the checks and prints the claims that hold;
``tests/benchmarks/test_rule_checks.py`` runs each check as a test.
"""

from __future__ import annotations

THEMES = (
    "imports",
    "shapes",
    "quantization",
    "sixteen_bits",
    "performance",
    "memory",
    "fused_attention",
    "fixed",
)
"""The modules of this package that hold checks."""
