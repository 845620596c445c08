"""Model transports: local weights, and HTTP endpoints."""
