"""Functions that find, open and replace untrusted files, and limit the work on each file."""
