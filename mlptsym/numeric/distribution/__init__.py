"""Distributions of response times: transforms, moments and percentiles."""
