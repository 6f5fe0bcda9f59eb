"""Read parts of models at URLs."""
