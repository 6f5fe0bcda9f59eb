"""Rewrites, one module each. Modules with a leading underscore contain code that several rewrites share."""
