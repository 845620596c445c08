"""The promotion gate: numbers in, a decision with reasons out."""
