"""Measuring arms: plan, run, journal, resume and reuse."""
