"""Team settings for findings: configuration, selection, suppression, baseline."""
