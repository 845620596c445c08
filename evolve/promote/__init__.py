"""Evidence, promotion, ledger and audit."""
