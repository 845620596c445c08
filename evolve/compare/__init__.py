"""Two sets of measurements beside one another: sweeps, or scorecards that others wrote. Nothing is decided."""
