"""Looking at a workspace in a browser: every sweep, generation and promotion; nothing is changed by it."""
