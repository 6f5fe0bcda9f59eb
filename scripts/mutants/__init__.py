"""Mutation testing on a sample of the package."""
