"""The rule language: expressions, templates and patterns."""
