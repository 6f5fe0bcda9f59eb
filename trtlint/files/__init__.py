"""Find, open, limit and replace untrusted files."""
