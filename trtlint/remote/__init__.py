"""Models behind URLs, read by ranges."""
