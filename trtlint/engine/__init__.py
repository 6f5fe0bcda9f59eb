"""Rules, facts and evidence to findings, for one or several targets."""
