"""A small proxy."""
