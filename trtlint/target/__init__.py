"""Represent the target of a build: product, version, GPU and builder settings."""
