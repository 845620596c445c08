"""The gate's operating characteristics on worlds whose truth is known."""
