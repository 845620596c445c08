"""Checking what an agent answered or edited."""
