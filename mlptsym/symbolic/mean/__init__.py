"""Mean response times, their slopes and their limits."""
