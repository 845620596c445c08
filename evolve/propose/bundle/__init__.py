"""The evidence bundle: what a proposer may see, as files."""
