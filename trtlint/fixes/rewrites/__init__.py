"""Rewrites, one module each; modules with a leading underscore contain shared code."""
