"""Sums over the levels of a policy, and what lies beyond the last one that is summed."""
