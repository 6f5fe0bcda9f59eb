"""Lint many files in this process, in worker processes or on a cluster, with a result cache."""
