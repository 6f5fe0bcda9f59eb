"""Measurements that the project's claims rest on; ``make bench`` runs them all.

Every figure is a ratio of two things measured in one run, so that it means the same on any machine.
"""
