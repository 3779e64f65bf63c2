"""Best quanta, equal and unequal, for the mean and for other objectives."""
