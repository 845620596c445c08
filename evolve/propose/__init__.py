"""Proposing candidates: operators, and the search among what they make."""
