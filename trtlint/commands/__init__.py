"""Implementation of each command.  :mod:`trtlint.cli` parses the command line."""
