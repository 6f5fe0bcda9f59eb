"""Results of ``trtlint measure``, compared with an independent arithmetic."""
