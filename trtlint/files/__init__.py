"""Files of strangers: found, opened, replaced."""
