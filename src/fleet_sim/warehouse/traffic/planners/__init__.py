"""Planners of paths for many robots.

`planner.py` has the interface; what a planner returns is checked before any robot drives it. `pibt.py` and `lacam.py`
are the built-in ones, and `registry.py` gives names and runs programs of yours.
"""
