"""Evidence for and against findings, such as a build log or measured ranges.

Each kind of evidence has one module.  A new kind from files of the user needs three things:

- a module here with a subclass of :class:`~trtlint.engine.evidence.base.Evidence`
- a reader, a subclass of :class:`~trtlint.runs.evidencefiles.FileReader`
- a row in :data:`~trtlint.runs.evidencefiles.EVIDENCE_FILES`, and a keyword in
  :class:`~trtlint.runs.evidencefiles.EvidenceKeywords`
"""
