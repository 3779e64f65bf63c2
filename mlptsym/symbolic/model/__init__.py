"""The model: sizes, memory, service times and their moments."""
