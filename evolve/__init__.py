"""Improve the skills that coding agents read, and prove each improvement before it is committed."""

__version__ = "0.1.0"
