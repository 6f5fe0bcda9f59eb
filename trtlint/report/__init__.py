"""Reports of findings, as text and as documents.

Each format has a module; see :mod:`~trtlint.report.formats`.
"""
