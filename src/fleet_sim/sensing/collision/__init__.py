"""Collisions on columns: broad phase, narrow phase, pair differences, blocking. No physics engine in here.

A step goes `bounds.py`, `broad.py`, `distances.py`, as `system.py` puts them together. `blocking.py` shortens motions
before bodies meet, so it runs before the check. `contacts.py` and `convex.py` measure bodies made of convex pieces.
"""
