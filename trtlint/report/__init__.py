"""Findings as text and documents, one module a format; see :mod:`~trtlint.report.formats`."""
