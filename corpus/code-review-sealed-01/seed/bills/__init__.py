"""Bills."""
