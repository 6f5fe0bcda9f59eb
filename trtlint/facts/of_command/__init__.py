"""Facts of what the build command says."""
