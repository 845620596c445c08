"""Searching for better candidates: which to propose from, by what, what to measure, and which to keep."""
