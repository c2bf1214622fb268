"""Collisions on columns: broad phase, narrow phase, pair differences, blocking. No physics engine in here.

A step goes `bounds.py`, `broad.py`, `distances.py`, `pairs.py`, in this order, as `system.py` puts them together.
`blocking.py` shortens motions before bodies meet, so it runs before the check. Files named `compiled_...` have kernels.
"""
