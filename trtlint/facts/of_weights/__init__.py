"""What is found in the elements of a model's weights; all of them are read once."""
