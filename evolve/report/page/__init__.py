"""A decision as one self-contained HTML page."""
