"""The tickets of a help desk."""
