"""Serves the files of one folder."""
