"""Evidence for and against findings, such as a build log or measured ranges.

Each kind of evidence has one module.  A new kind needs three things:

- a module here with a subclass of :class:`~trtlint.engine.evidence.base.Evidence`
- a function that reads the evidence, in :mod:`trtlint.runs.evidence`
- a row in the table of readers of :mod:`trtlint.runs.evidence`
"""
