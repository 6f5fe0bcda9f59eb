"""What a team wants of findings: configuration, selection, suppression, baseline."""
