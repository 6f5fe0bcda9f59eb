"""Facts of the elements of a model's weights, which are all read once."""
