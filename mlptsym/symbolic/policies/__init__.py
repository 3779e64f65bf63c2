"""Policies: what the server does for a job in each level, and the Gittins index."""
