"""How agents move: laws, one robot after the other, reading and writing columns only.

`laws.py` has the interface of a law and their names, `system.py` calls them once per step with all of their rows, and
`driving.py` is the law of most robots. A law is one kernel: it runs as Python for a few robots, and compiled for many.
"""
