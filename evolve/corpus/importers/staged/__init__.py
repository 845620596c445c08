"""Programs that are copied into tasks and run there, in a sandbox; they need the standard library alone."""
