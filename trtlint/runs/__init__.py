"""Linting many files: in this process, in several, or on a cluster, and not twice what has not changed."""
