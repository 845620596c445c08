"""Running programs that nobody vouches for."""
