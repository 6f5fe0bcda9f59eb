"""Facts about the elements of a model's weights.  Each weight is read once."""
