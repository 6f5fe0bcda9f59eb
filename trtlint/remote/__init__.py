"""Models at URLs, read in parts."""
