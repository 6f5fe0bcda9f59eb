"""Functions to find, open and replace untrusted files, and to limit the time and memory for each file."""
