"""The page of findings: what is drawn of a block, where it lies, and the markup that shows it."""
