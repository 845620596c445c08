"""Takes payments."""
