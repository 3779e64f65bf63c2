"""Notebooks run as programs: their parameters, kernels and progress."""
