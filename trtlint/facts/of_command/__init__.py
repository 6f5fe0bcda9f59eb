"""Facts about the build command and about configuration files."""
