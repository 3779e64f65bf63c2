"""Mean response times and their slopes in the quantum."""
