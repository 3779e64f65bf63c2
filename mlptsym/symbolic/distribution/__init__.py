"""The transform of the response time."""
