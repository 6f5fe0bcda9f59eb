"""Facts of the files of a build."""
