"""Run the examples that test the rules, the rewrites and the tables of refused models and bad releases."""
