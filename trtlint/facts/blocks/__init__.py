"""Shared code of kinds of facts: walks, blocks of operators and their properties."""
