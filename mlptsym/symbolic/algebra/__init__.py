"""Symbols, named formulas and special functions: the means of the derivation."""
