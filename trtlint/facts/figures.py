"""Format numbers for all reports."""

from __future__ import annotations


def figure(value: float) -> str:
    """Format a number for a report, in a few characters.

    >>> figure(97344.0), figure(0.012345), figure(3.4e38)
    ('97,344', '0.0123', '3.4e+38')
    """
    if value >= 1e9 or (value and value < 1e-4):
        return f"{value:.2g}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
