"""Facts from the files of a build, such as its log."""
