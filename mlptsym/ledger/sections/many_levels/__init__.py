"""Section 4.3, many levels: the overhead and its approximation, the rule of thumb (31)(32), and the kinks at ℓ_C/m."""
