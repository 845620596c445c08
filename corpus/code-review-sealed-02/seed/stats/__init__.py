"""Statistics of the web site."""
