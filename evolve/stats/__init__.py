"""Statistics: pure functions over numbers."""
