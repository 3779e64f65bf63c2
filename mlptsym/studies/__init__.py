"""What figures, claims and commands show, computed as points of curves."""
