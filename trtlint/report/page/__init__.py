"""The HTML page about findings: pictures of nodes, their layout, and the markup."""
