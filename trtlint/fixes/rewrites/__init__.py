"""The rewrites, one module each; modules whose name begins with an underscore are what they share."""
