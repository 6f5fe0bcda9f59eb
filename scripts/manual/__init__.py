"""The manual as a site: the pages of ``docs/``, and pages generated from the sources.

``python -m scripts.manual`` writes all pages to ``build/manual`` and builds a site from them with Zensical.
Generated pages are not in the repository, so they are always up to date.
"""
