"""The file formats, one module a format."""
