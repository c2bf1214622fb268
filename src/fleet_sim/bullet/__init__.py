"""PyBullet as a view of the columns: the only package that imports pybullet, and only at its first use."""
