"""Today's prices, for the programs of partners."""
