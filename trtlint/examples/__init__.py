"""Run the examples of rules, refusals, bad releases and rewrites, which test them."""
