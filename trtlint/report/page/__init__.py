"""The HTML page of findings: pictures of blocks, their layout, and the markup."""
