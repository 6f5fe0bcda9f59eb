"""Settings of a team: configuration file, rule selection, suppressions, baseline."""
