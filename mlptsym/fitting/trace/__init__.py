"""What was recorded: requests read from a file, their units, the clock of their times, how arrivals come."""
