"""Exact distances of bodies made of convex pieces and of surfaces, computed by kernels for all pairs in one call."""
