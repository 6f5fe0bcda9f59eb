"""The language of rules: expressions, templates and patterns."""
