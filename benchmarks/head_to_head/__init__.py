"""Searches for better skills side by side: one world, one evaluator, one proposer, matched budgets."""
