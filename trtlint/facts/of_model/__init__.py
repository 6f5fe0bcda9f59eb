"""Facts of what the model is."""
