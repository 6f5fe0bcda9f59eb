"""Write findings as text and documents.  Each format has a module, see :mod:`~trtlint.report.formats`."""
