"""Helps programs of the terminal."""
