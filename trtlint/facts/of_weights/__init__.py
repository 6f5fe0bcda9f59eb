"""Facts about the elements of a model's weights, all of which are read once."""
