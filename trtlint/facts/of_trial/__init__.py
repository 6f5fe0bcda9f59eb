"""Kinds of facts from experiments: dry builds, comparisons and measurements."""
