"""Kinds of facts that are found by running a model."""
