"""Implement the commands.  :mod:`trtlint.cli` parses the command line."""
