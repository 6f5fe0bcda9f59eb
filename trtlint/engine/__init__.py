"""Rule files to findings: rulebooks, evaluation, witnesses, fingerprints; several targets."""
