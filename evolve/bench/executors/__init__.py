"""Where cells are run."""
