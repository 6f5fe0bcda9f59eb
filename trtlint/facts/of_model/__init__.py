"""Facts of the model."""
