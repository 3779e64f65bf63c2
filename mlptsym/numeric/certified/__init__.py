"""Best quanta with proofs: interval arithmetic, enclosures, and branch and bound."""
