"""Facts of the build command."""
