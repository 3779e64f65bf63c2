"""Simulation of the queue: Algorithm 1 on drawn or given traces."""
