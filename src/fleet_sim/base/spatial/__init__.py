"""Geometry on arrays: pure NumPy, batch first, stateless. One robot is an array of length one."""
