"""Evidence for and against findings.  Each kind has one module with the protocol of :mod:`.base`.

A new kind is a module here with a subclass of :class:`~trtlint.engine.evidence.base.Evidence`, a reader in
:mod:`trtlint.commands.evidence`, and a row in its table of readers.
"""
