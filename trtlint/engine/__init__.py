"""The rule engine. It evaluates rules with facts and evidence, and creates findings for each target."""
