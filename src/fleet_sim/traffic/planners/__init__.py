"""Planners of paths for many robots, one per file.

`planner.py` has the interface; what a planner returns is checked before any robot drives it. `prioritized.py`,
`pibt.py` and `lacam.py` are the built-in ones, `external.py` runs a program of yours, and `registry.py` gives names.
"""
