"""The work of each command, after the command line is parsed."""
