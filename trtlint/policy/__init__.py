"""Settings of a team: configuration file, selection of rules, suppressions, and baseline."""
