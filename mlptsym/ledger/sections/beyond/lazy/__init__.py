"""MLPT′ with two levels: its exact mean, and how often its cost is waived."""
