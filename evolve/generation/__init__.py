"""One generation: evidence, proposals, screening, confirmation, promotion."""
