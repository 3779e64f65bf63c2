"""Real traces: what was recorded, laws that fit, how far arrivals are from Poisson, and the policy to use."""
