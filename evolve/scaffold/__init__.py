"""Making a workspace of a repository."""
