"""Reads the stock lists of suppliers."""
