"""How agents move: laws, one robot after the other, reading and writing columns only.

`law.py` is the interface of a law and `system.py` what calls them, once per step with all of their rows. `driving.py`
has the omnidirectional and the differential law: kernels, which run in Python, or as machine code where there is much
to do.
"""
