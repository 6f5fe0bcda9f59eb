"""Build targets: product, version, GPU and builder settings."""
