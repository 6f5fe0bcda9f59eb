"""Claims of rules, checked without a GPU: by NVIDIA's parser and builder, or by numbers.

One module a theme.  Each has ``CHECKS``, a list of :class:`~benchmarks.rule_checks.check.Check`; adding a
module to ``THEMES`` is all there is to do.  ``python -m benchmarks.rule_checks`` runs them and prints which
claim holds; ``tests/benchmarks/test_rule_checks.py`` runs each as a test.
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
