"""PyBullet as a view of the columns: the only package that imports pybullet, and only at its first use.

`mirror.py` brings bodies up to date before anybody looks at them, and `bodies.py` finds them by row. `engine.py` lets
PyBullet move dynamic bodies; without it PyBullet computes nothing. `handle.py` is `sim.bullet`, with the functions of
PyBullet by their names, and what each of them may do to entities.
"""
