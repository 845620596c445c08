"""The only way out of a box: a reverse proxy that holds the key, meters, and enforces limits."""
