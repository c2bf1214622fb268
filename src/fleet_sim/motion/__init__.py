"""How agents move: one law per file, on arrays of rows, reading and writing columns only.

`law.py` is the interface of a law and `system.py` what calls them, once per step with all of their rows. `omni.py` is
the shortest example. Files named `compiled_...` do the same for many robots in one pass, with the same bits.
"""
