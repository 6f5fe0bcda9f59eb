"""Facts of what a build left behind."""
