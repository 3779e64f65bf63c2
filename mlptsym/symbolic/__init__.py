"""The derivation: SymPy expressions only, from the model and Algorithm 1 to response times."""
