"""Run the examples that test rules, refusals, bad releases and rewrites."""
