"""Gittins indices, with and without a cap on preemptions."""
