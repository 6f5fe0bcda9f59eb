"""The manual as a site: the pages of ``docs/``, and pages made from the sources.

``python -m scripts.manual`` writes all pages to ``build/manual`` and has Zensical make a site of them there.
What is made is never kept in the repository, so that it cannot be out of date.
"""
