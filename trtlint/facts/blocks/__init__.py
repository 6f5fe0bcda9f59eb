"""Code that several kinds of facts use: searches in the graph, and properties of groups of operators."""
